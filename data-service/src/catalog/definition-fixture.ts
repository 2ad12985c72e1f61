// For tests: table definitions that say no more than a test needs.
import type { ColumnDefinition, RelationDefinition, TableDefinition } from "./definition.js";

/** A table without members, whose id and collection are its name. */
export function bareTable(name: string, own: Partial<TableDefinition> = {}): TableDefinition {
  return {
    id: name,
    name,
    description: null,
    singleton: false,
    idType: "objectId",
    columns: [],
    relations: [],
    uniques: [],
    indexes: [],
    storage: { collection: name, fields: {} },
    ...own,
  };
}

/** A column of short texts whose id is its name. */
export function bareColumn(name: string, own: Partial<ColumnDefinition> = {}): ColumnDefinition {
  return {
    id: name,
    name,
    type: "string",
    required: false,
    unique: false,
    hidden: false,
    readOnly: false,
    encrypted: false,
    searchable: false,
    description: null,
    ...own,
  };
}

/** A link to one record of a table, which has no name for the other end; its id is its name. */
export function bareRelation(
  name: string,
  table: string,
  own: Partial<RelationDefinition> = {},
): RelationDefinition {
  return {
    id: name,
    name,
    type: "many-to-one",
    table,
    inverse: null,
    required: false,
    onDelete: "SET NULL",
    counted: false,
    description: null,
    ...own,
  };
}

const home = bareRelation("home", "houses", { id: "r", inverse: "cats", counted: true });

/** Houses that count their cats. */
export const HOUSES_AND_CATS: readonly TableDefinition[] = [
  bareTable("houses", { idType: "int" }),
  bareTable("cats", {
    idType: "int",
    relations: [home],
    storage: { collection: "cats", fields: { r: "homeId" } },
  }),
];
