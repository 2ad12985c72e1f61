// Refusals of the query language: the parameter, the path inside it, what was wrong, what would be right.
import { AppError } from "@portico/shared/app-error";
import { suggestion } from "../catalog/names.js";

/** A place inside the query, such as `filter.author.name`. */
export type Path = string;

/** A 400 that begins with the place. */
export function refuse(path: Path, problem: string): AppError {
  return new AppError("BAD_REQUEST", { message: `${path}: ${problem}`, details: { path } });
}

/** The one text for names that do not exist and names the caller may not know. */
export function unknownField(path: Path, name: string, table: string, known: Iterable<string>): AppError {
  return refuse(path, `unknown field "${name}" on "${table}"${suggestion(name, known)}`);
}
