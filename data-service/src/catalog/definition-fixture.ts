// For tests: table definitions that say no more than what a test is about.
import type { RelationDefinition, TableDefinition } from "./definition.js";

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

const home: RelationDefinition = {
  id: "r",
  name: "home",
  type: "many-to-one",
  table: "houses",
  inverse: "cats",
  required: false,
  onDelete: "SET NULL",
  counted: true,
  description: null,
};

/** Houses that count their cats. */
export const HOUSES_AND_CATS: readonly TableDefinition[] = [
  bareTable("houses", { idType: "int" }),
  bareTable("cats", {
    idType: "int",
    relations: [home],
    storage: { collection: "cats", fields: { r: "homeId" } },
  }),
];
