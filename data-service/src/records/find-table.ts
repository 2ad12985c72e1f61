// What a path names: a table, the id of a record; and the refusals where there is none.
import { AppError } from "@portico/shared/app-error";
import { type Catalog, memberNamed, type Table } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import { similarNames, suggestion } from "../catalog/names.js";
import type { Stored } from "../catalog/stored.js";
import type { Rights } from "../permission/rights.js";
import { type VisibleTable, visibleTables } from "../permission/visible-tables.js";

/**
 * @param rights of the caller, for a guess at what was meant
 * @throws AppError 404
 */
export function findTable(catalog: Catalog, name: string, rights?: Rights): Table {
  const table = catalog.tables.get(name);
  if (table !== undefined) return table;
  throw noTable(
    name,
    rights === undefined ? [] : visibleTables(rights, catalog, similarTables(catalog, name)),
  );
}

/**
 * The tables with this name or a similar one. Only they can have been meant, and it takes long to say of all tables what a
 * caller may hear of.
 */
export function similarTables({ tables }: Catalog, name: string): Table[] {
  return similarNames(name, tables.keys()).flatMap((each) => tables.get(each) ?? []);
}

/**
 * The same words for a table that does not exist and one that the caller may not hear of.
 * @param known what they may hear of
 */
export function noTable(name: string, known: readonly Pick<VisibleTable, "table">[]): AppError {
  const meant = suggestion(
    name,
    known.map(({ table }) => table.name),
  );
  return new AppError("NOT_FOUND", `There is no table "${name.slice(0, 64)}"${meant || "."}`);
}

/** Completes "… is kept;" for a table without an option of its definition. */
export function withoutOption({ system }: Table, option: "changes" | "history" | "softDelete"): string {
  return system
    ? "tables of the service itself have no such option"
    : `set "${option}": true in its definition`;
}

/**
 * For a request of many steps, between which tables may be renamed and replaced.
 * @param began the table that its first step found by the name
 * @throws AppError 409 when the name stands for another one by now
 */
export function requireSameTable(now: Table, began: Table): void {
  if (now.id === began.id) return;
  const message = `"${now.name}" is no longer the table that this request began with.`;
  throw new AppError("CONFLICT", message);
}

/**
 * For a request of many steps that finds the members anew by their names at each.
 * @param began the table as an earlier step found it
 * @throws AppError 409 when its name, or one of theirs, stands for another by now
 */
export function requireSameNames(now: Table, began: Table): void {
  requireSameTable(now, began);
  if (!passesName(began, now)) return;
  // Not which: the caller may not know of it.
  const message = `In "${now.name}" a name has passed from one column to another since this request began.`;
  throw new AppError("CONFLICT", message);
}

/** Does a name of one of its columns or links stand for another one by now? */
export function passesName(began: Table, now: Table): boolean {
  if (now === began) return false;
  const isOther = ([name, { id }]: [string, { readonly id: string }]): boolean =>
    (memberNamed(now, name)?.id ?? id) !== id;
  return [...began.columns, ...began.relations].some(isOther);
}

/**
 * The id that a path names, by the table's id type. Text that can't be an id belongs to no record.
 * @throws AppError 404
 */
export function parseId(table: Table, text: string): Stored {
  const id = idFrom(table, text);
  if (id === undefined) throw recordNotFound(table);
  return id;
}

/** The id that a path names, by the table's id type. @returns undefined for a text that can't be an id */
export function idFrom({ idColumn }: Table, text: string): Stored | undefined {
  const row = COLUMN_TYPES[idColumn.type];
  const json = row.fromText(text);
  return json === undefined ? undefined : row.parse(json, []);
}

/** The same refusal for ids that do not exist and records the caller may not see. */
export function recordNotFound(table: Table): AppError {
  return new AppError("NOT_FOUND", `There is no such record in "${table.name}".`);
}
