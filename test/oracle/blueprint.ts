// What a generated case is made of: tables with records that name each other by position, since ids come later.
import type { Parameters } from "./evaluate.js";
import type { Column, Json, JsonObject, Relation, Table } from "./model.js";

export interface RelationBlueprint extends Relation {
  /** How the links are written: with the new record, by a change of it, or by a change of the other end. */
  readonly written: "create" | "patch" | "inverse";
}

export interface RowBlueprint {
  /** A column may be missing, which is another way to be null. */
  readonly values: JsonObject;
  /** Columns that end as null, but had this value before. */
  readonly erased: JsonObject;
  /** Positions in the related table's rows. */
  readonly links: Readonly<Record<string, readonly number[]>>;
  /** It is deleted once all is linked, where its table keeps what is deleted, and if no rule is against it. */
  readonly deleted?: boolean;
}

export interface TableBlueprint {
  readonly name: string;
  readonly idType: Table["idType"];
  readonly columns: readonly Column[];
  readonly relations: readonly RelationBlueprint[];
  /** Names of columns, `-` before those that descend. */
  readonly indexes?: readonly (readonly string[])[];
  readonly softDelete?: boolean;
  readonly rows: readonly RowBlueprint[];
}

export interface Blueprint {
  readonly tables: readonly TableBlueprint[];
}

/** How the parameters travel. */
export type Transport = "get" | "brackets" | "query" | "override";

/**
 * A list call. Ids and timestamps of records stand in it as `{"$id":[table,row]}` and `{"$stamp":[table,row,column]}`;
 * a row that does not exist is an id that nothing has.
 */
export interface Request {
  readonly table: string;
  readonly transport: Transport;
  readonly parameters: Parameters;
}

/** Replaces the marks by what they stand for. */
export function resolve(value: Json, look: (mark: "$id" | "$stamp", place: readonly Json[]) => Json): Json {
  if (Array.isArray(value)) return value.map((one: Json) => resolve(one, look));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [first] = entries;
  if (entries.length === 1 && first !== undefined && Array.isArray(first[1])) {
    if (first[0] === "$id" || first[0] === "$stamp") return look(first[0], first[1]);
  }
  return Object.fromEntries(entries.map(([key, one]) => [key, resolve(one, look)]));
}
