// The catalog: every table of this moment, frozen. All names a request can use are looked up here.
import type { Json } from "@portico/shared/json";
import { getOrMake } from "../get-or-make.js";
import type { ColumnType } from "./column-types.js";
import type { Stored } from "./stored.js";

export const ID_TYPES = ["objectId", "uuid", "int", "string", "mixed"] as const;
export type IdType = (typeof ID_TYPES)[number];
export type OwnCreate = "json" | "upload";
export const ON_DELETE = ["SET NULL", "CASCADE", "RESTRICT"] as const;
export type OnDelete = (typeof ON_DELETE)[number];

/** What a value must satisfy beyond its type. `min` and `max` are stored values of the column's type. */
export interface Rules {
  readonly min?: Stored;
  readonly max?: Stored;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: "email" | "url" | "uuid";
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface Column {
  /** Stays the same when the column is renamed. */
  readonly id: string;
  readonly name: string;
  /** The name inside stored documents; stays the same when the column is renamed. */
  readonly field: string;
  readonly type: ColumnType;
  readonly required: boolean;
  /** JSON, checked like a value from a client; undefined = none. */
  readonly default: Json | undefined;
  readonly unique: boolean;
  /** Left out unless it is named, and unknown to everybody but root admins until a permission grants it. */
  readonly hidden: boolean;
  readonly readOnly: boolean;
  readonly encrypted: boolean;
  /** Its grams are stored and indexed; see grams.ts. */
  readonly searchable: boolean;
  /** Some index begins with it and holds every record that has a value. */
  readonly indexed: boolean;
  /** Members of an enum. */
  readonly values: readonly string[];
  readonly rules: Rules;
  readonly description: string | null;
  /** Set only by the service: id, createdAt, updatedAt, deletedAt. Values from clients are ignored. */
  readonly generated: boolean;
  /** Nobody can read it, or filter or sort by it: password hashes and key material. */
  readonly secret: boolean;
  /** The service makes up a value if a new record comes without one. */
  readonly filled?: boolean;
  /** Users sign in by it: see email-address for its one spelling, and what it may be. */
  readonly isAddress?: boolean;
  /** Its table is adopted: other programs may have left something else in its field. */
  readonly isAdopted?: boolean;
}

/** A field that holds links. */
export interface LinkField {
  readonly field: string;
  readonly list: boolean;
  /** Its table is adopted: other programs may have left something else in it. */
  readonly isAdopted?: boolean;
}

export interface Relation {
  readonly id: string;
  readonly name: string;
  /** Name of the table at the other end. */
  readonly target: string;
  /** The relation's name at the other end, where it has one. */
  readonly inverse: string | null;
  /** To-many: answers lists, filters mean "any". */
  readonly many: boolean;
  /** Where the link is stored: ids in `field` of this table's documents, or of the target's. */
  readonly link: LinkField & { readonly on: "self" | "target" };
  /** A record on this side must have one. */
  readonly required: boolean;
  /** At most one record of this side may link to a record of the other: one-to-one. */
  readonly exclusive: boolean;
  /** What happens to this side's record when the linked one is deleted; only where link.on is "self". */
  readonly onDelete: OnDelete;
  /** The counter of a counted relation, at both of its ends. */
  readonly counter: Counter | undefined;
  /** Written only by the service. */
  readonly readOnly?: boolean;
  /** What null means, where a new record must say it: the link may be null, and never just be left out. */
  readonly nullMeans?: string;
  readonly description: string | null;
}

/** Where a counted relation keeps the number of children: in the documents of the parents, absent for none. */
export interface Counter {
  /** The relation's id. */
  readonly id: string;
  /** The number, as a column that nobody can name. */
  readonly column: Column;
  /** The field that is increased with every change of the number. */
  readonly version: string;
  /** False while the children from before are still being counted. */
  readonly ready: boolean;
  /** The collection of the parents. */
  readonly parents: string;
  /** The collection of the children, and the field of their links. */
  readonly children: LinkField & { readonly collection: string };
}

export interface Table {
  readonly id: string;
  readonly name: string;
  readonly collection: string;
  /** The collection existed before the table: other programs may use it and have indexes of their own in it. */
  readonly isAdopted?: boolean;
  readonly description: string | null;
  readonly singleton: boolean;
  /** Its changes can be followed live. */
  readonly changes?: boolean;
  /** Who changed what in its records is kept. */
  readonly history?: boolean;
  /** How many times it has begun to keep a journal: between two such periods there is a gap. */
  readonly journalEpoch: number;
  readonly idType: IdType;
  /** On a sharded cluster the records are spread by their ids. */
  readonly isSharded?: boolean;
  /** Part of Portico itself (`svc_…`). */
  readonly system: boolean;
  /** Written only by the service: no request makes, changes or deletes its records, and nothing links to them. */
  readonly journal?: boolean;
  /** Its records are made by separate calls, from JSON or with a file: no body brings new ones along. */
  readonly ownCreate?: OwnCreate | undefined;
  /** A change of its records makes no others: its body only links to records that are there. */
  readonly changesOnlyLink?: boolean;
  readonly idColumn: Column;
  /** When a record was made and last changed, as far as that is known. */
  readonly createdAt: Column;
  readonly updatedAt: Column;
  /** When a record was deleted: only in tables that keep deleted records (`softDelete`). */
  readonly deletedAt?: Column;
  readonly columns: ReadonlyMap<string, Column>;
  readonly relations: ReadonlyMap<string, Relation>;
  /** Names of columns and to-one relations that are unique together. */
  readonly uniques: readonly (readonly string[])[];
  /** Like `uniques`, but null counts as a value: among records without a parent, too, only one may have a given name. */
  readonly uniquesWithNull?: readonly (readonly string[])[];
  /** Names, `-` first for descending. */
  readonly indexes: readonly (readonly string[])[];
}

/** Does every write of the table's records leave an entry in the journal? */
export function isJournaled({ changes, history }: Pick<Table, "changes" | "history">): boolean {
  return changes === true || history === true;
}

export interface Catalog {
  /** Grows with every change of any table. */
  readonly version: number;
  readonly tables: ReadonlyMap<string, Table>;
  /** Ids of tables that are being changed at this moment: nobody writes their records until that is over. */
  readonly changing: ReadonlySet<string>;
  /** The latest change of tables that already existed; undefined before the first. Making a table does not count. */
  readonly change?: LatestChange | undefined;
}

/** A change of tables, by its id: rules use the names that are valid after it. */
export interface LatestChange {
  readonly id: string;
  /** Whether the rules in the database already use them. Until then, whoever reads rules renames what they name. */
  readonly isFollowed: boolean;
}

const byId = new WeakMap<Catalog, ReadonlyMap<string, Table>>();

/** The tables by their ids, which stay the same whatever the tables are called. */
export function tablesById(catalog: Catalog): ReadonlyMap<string, Table> {
  return getOrMake(
    byId,
    catalog,
    () => new Map([...catalog.tables.values()].map((table) => [table.id, table])),
  );
}

/** The table with an id; undefined when it is gone. */
export function tableById(catalog: Catalog, id: string): Table | undefined {
  return tablesById(catalog).get(id);
}

/** The relation that stores the links, seen from the table at the other end. */
export function owningRelation({
  target,
  relation,
}: {
  readonly target: Table;
  readonly relation: Relation;
}): Relation | undefined {
  return relationIn(target, relation.link.field);
}

/** The relation whose links are stored in a field of a table's documents. */
export function relationIn({ relations }: Table, field: string): Relation | undefined {
  return [...relations.values()].find(({ link }) => link.on === "self" && link.field === field);
}

export function memberNamed({ columns, relations }: Table, name: string): Column | Relation | undefined {
  return columns.get(name) ?? relations.get(name);
}

/** Is the member shown unless something else is said? Relations always are. */
export function isOpen(member: Column | Relation): boolean {
  return !("hidden" in member && member.hidden);
}

/** May a record have no value in the column? Those that other programs made may lack the times that ours always have. */
export function mayBeNull({ isAdopted, createdAt, updatedAt }: Table, column: Column): boolean {
  return !column.required || (isAdopted === true && (column === createdAt || column === updatedAt));
}

/** Does the service give the member its value? It does so for columns alone. */
export function isGenerated(member: Column | Relation): boolean {
  return "generated" in member && member.generated;
}

/** What a field of a table's documents holds: the values of a column, or the links of a relation. */
export function memberIn(table: Table, field: string): Column | Relation | undefined {
  const column = [...table.columns.values()].find((each) => each.field === field);
  return column ?? relationIn(table, field);
}

/** The field in which a member is stored, for a relation the field of its links; undefined when there is no such member. */
export function fieldNamed({ columns, relations }: Table, name: string): string | undefined {
  return columns.get(name)?.field ?? relations.get(name)?.link.field;
}

/** Like `fieldNamed`, for a member that is known to exist. @throws Error */
export function requireField(table: Table, name: string): string {
  const field = fieldNamed(table, name);
  if (field === undefined) throw new Error(`table "${table.name}" has no member "${name}"`);
  return field;
}

/** The table at the other end of a relation; the catalog is closed, so it is always there. */
export function targetOf(catalog: Catalog, relation: Relation): Table {
  const table = catalog.tables.get(relation.target);
  if (table === undefined) throw new Error(`catalog is not closed: no table "${relation.target}"`);
  return table;
}

/** The counted relations whose links are stored in a table's own documents. */
export function ownCounters(table: Table): Counter[] {
  return [...table.relations.values()].flatMap(({ link, counter }) =>
    link.on === "self" && counter !== undefined ? [counter] : [],
  );
}

/** A relation of another table whose links are stored there and point at `table`. */
export function incomingLinks(
  catalog: Catalog,
  table: Pick<Table, "name">,
): { owner: Table; relation: Relation }[] {
  return [...catalog.tables.values()].flatMap((owner) =>
    [...owner.relations.values()]
      .filter((relation) => relation.link.on === "self" && relation.target === table.name)
      .map((relation) => ({ owner, relation })),
  );
}
