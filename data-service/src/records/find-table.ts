// Finds the table that a path names.
import { AppError } from "@portico/shared/app-error";
import type { Catalog, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type Stored } from "../catalog/column-types.js";

/** @throws AppError 404 */
export function findTable(catalog: Catalog, name: string): Table {
  const table = catalog.tables.get(name);
  if (table === undefined) throw new AppError("NOT_FOUND", `There is no table "${name.slice(0, 64)}".`);
  return table;
}

/**
 * The id a path names, by the table's id type. What can't be an id is the id of no record.
 * @throws AppError 404
 */
export function parseId(table: Table, text: string): Stored {
  const row = COLUMN_TYPES[table.idColumn.type];
  const json = row.fromText(text);
  const id = json === undefined ? undefined : row.parse(json, []);
  if (id === undefined) throw recordNotFound(table);
  return id;
}

/** The same refusal for ids that do not exist and records the caller may not see. */
export function recordNotFound(table: Table): AppError {
  return new AppError("NOT_FOUND", `There is no such record in "${table.name}".`);
}
