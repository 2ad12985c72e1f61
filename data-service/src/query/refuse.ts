// Refusals of the query language: the parameter, the path inside it, what was wrong, what would be right.
import { AppError } from "@portico/shared/app-error";
import type { Table } from "../catalog/catalog.js";
import { suggestion } from "../catalog/names.js";
import type { ReadView } from "../permission/read-view.js";

/** A place inside the query, such as `filter.author.name`. */
export type Path = string;

/** A 400 that begins with the place. */
export function refuse(path: Path, problem: string): AppError {
  return new AppError("BAD_REQUEST", { message: `${path}: ${problem}`, details: { path } });
}

/** The same text for names that do not exist and names that the caller may not know. */
export function unknownField(path: Path, name: string, table: string, known: Iterable<string>): AppError {
  return refuse(path, `unknown field "${name.slice(0, 64)}" on "${table}"${suggestion(name, known)}`);
}

/**
 * For a name that can't be compared: unknown, unless it is shown in some rows, so that the caller knows of it anyway.
 * @param known what could be meant; everything that can be compared, if omitted
 */
export function notComparable(
  path: Path,
  name: string,
  table: Table,
  view: ReadView,
  known: Iterable<string> = view.names(table),
): AppError {
  if (!view.names(table, "show").includes(name)) return unknownField(path, name, table.name, known);
  return refuse(
    path,
    `"${name}" of "${table.name}" is shown in some rows only, so it can't be filtered, sorted or aggregated by`,
  );
}
