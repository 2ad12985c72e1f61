// For tests: table definitions that say no more than a test needs.
import { type ColumnDefinition, plainColumn, plainRelation, type TableDefinition } from "./definition.js";

export { plainRelation as bareRelation } from "./definition.js";

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
  return plainColumn(name, "string", own);
}

const home = plainRelation("home", "houses", { id: "r", inverse: "cats", counted: true });

/** Houses that count their cats. */
export const HOUSES_AND_CATS: readonly TableDefinition[] = [
  bareTable("houses", { idType: "int" }),
  bareTable("cats", {
    idType: "int",
    relations: [home],
    storage: { collection: "cats", fields: { r: "homeId" } },
  }),
];
