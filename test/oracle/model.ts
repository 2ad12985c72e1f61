// Tables, relations and records as plain values in memory: what the oracle knows of a database.
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const COLUMN_TYPES = [
  ...(["string", "text", "int", "bigint", "float", "decimal", "boolean"] as const),
  ...(["date", "datetime", "enum", "enumList", "json", "uuid", "objectId"] as const),
];
export type ColumnType = (typeof COLUMN_TYPES)[number];

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** The members of an enum or an enum list. */
  readonly values?: readonly string[];
  readonly hidden?: boolean;
  /** These change how fast an answer comes, never the answer. */
  readonly unique?: boolean;
  readonly searchable?: boolean;
}

export interface Relation {
  readonly name: string;
  readonly type: "many-to-one" | "one-to-one" | "many-to-many";
  readonly table: string;
  readonly inverse?: string;
  readonly required?: boolean;
  readonly counted?: boolean;
}

export interface Table {
  readonly name: string;
  readonly idType: "objectId" | "uuid" | "int";
  readonly columns: readonly Column[];
  readonly relations: readonly Relation[];
  /** Deleted records are kept, and are in no answer: the oracle does not have them. */
  readonly softDelete?: boolean;
}

export type Id = string | number;

export interface Row {
  readonly id: Id;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** A column without a key is missing, which reads as null. */
  readonly values: JsonObject;
  /** Ids of the related records, by the relation's own name; the inverse is derived. */
  readonly links: Readonly<Record<string, readonly Id[]>>;
}

export interface World {
  readonly tables: readonly Table[];
  readonly rows: Readonly<Record<string, readonly Row[]>>;
}

/** One side of a relation, seen from a table. */
export interface End {
  readonly kind: "one" | "many";
  readonly name: string;
  readonly table: Table;
  related(row: Row): readonly Row[];
}

/** A request that the contract refuses with 400. */
export class Refused extends Error {}

export function tableOf(world: World, name: string): Table {
  const table = world.tables.find((one) => one.name === name);
  if (table === undefined) throw new Refused(`no table ${name}`);
  return table;
}

export function rowsOf(world: World, table: Table): readonly Row[] {
  return world.rows[table.name] ?? [];
}

/** All columns, those that every table has included. */
export function columnsOf(table: Table): readonly Column[] {
  return [
    { name: "id", type: table.idType },
    ...table.columns,
    { name: "createdAt", type: "datetime" },
    { name: "updatedAt", type: "datetime" },
    ...(table.softDelete === true ? ([{ name: "deletedAt", type: "datetime" }] as const) : []),
  ];
}

export function columnOf(table: Table, name: string): Column | undefined {
  return columnsOf(table).find((column) => column.name === name);
}

/** A column's value; null when it is missing. */
export function valueIn(row: Row, name: string): Json {
  if (name === "id") return row.id;
  if (name === "createdAt") return row.createdAt;
  if (name === "updatedAt") return row.updatedAt;
  return row.values[name] ?? null;
}

/** Both what the table relates to and what relates to it by an inverse. */
export function endsOf(world: World, table: Table): readonly End[] {
  const own = table.relations.map((relation): End => {
    const target = tableOf(world, relation.table);
    return {
      kind: relation.type === "many-to-many" ? "many" : "one",
      name: relation.name,
      table: target,
      related: (row) => rowsOf(world, target).filter(({ id }) => row.links[relation.name]?.includes(id)),
    };
  });
  const inverse = world.tables.flatMap((owner) =>
    owner.relations.flatMap((relation): End[] => {
      if (relation.table !== table.name || relation.inverse === undefined) return [];
      return [
        {
          kind: relation.type === "one-to-one" ? "one" : "many",
          name: relation.inverse,
          table: owner,
          related: (row) =>
            rowsOf(world, owner).filter(({ links }) => links[relation.name]?.includes(row.id)),
        },
      ];
    }),
  );
  return [...own, ...inverse];
}

export function endOf(world: World, table: Table, name: string): End | undefined {
  return endsOf(world, table).find((end) => end.name === name);
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
