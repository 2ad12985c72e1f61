// One value of a record <-> one cell of a CSV file. Pure; each direction undoes the other.
import type { Json } from "@portico/shared/json";
import { type JsonRead, readJson } from "@portico/shared/read-json";
import type { Column, Relation, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES, type ColumnType } from "../catalog/column-types.js";

/** A cell: null is an empty one without quotes, "" an empty one with them. */
export type Cell = string | null;

/** The types whose cells are free text. */
const FREE_TEXT: readonly ColumnType[] = ["string", "text", "enum"];
/** Written as JSON text. */
const WRITTEN_AS_JSON: readonly ColumnType[] = ["json", "enumList"];

/**
 * What a spreadsheet takes for a formula (OWASP, CSV Injection), after any number of our own guards. U+FF1D and the like are
 * the wide forms, which some programs treat like the narrow ones.
 */
const FORMULA = /^'*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;
const GUARD = "'";
/**
 * A cell of any other type is free text, too, if a value does not fit its column (adopted collections show it as it is), and
 * for ids of several kinds; but numbers stay numbers.
 */
const PLAIN_NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** The cell of a value that the serializer has turned into JSON. */
export function cellOf(type: ColumnType, value: Json): Cell {
  if (value === null) return null;
  if (WRITTEN_AS_JSON.includes(type) || typeof value === "object") return JSON.stringify(value);
  const text = String(value);
  const mayBeFormula = FREE_TEXT.includes(type) || !PLAIN_NUMBER.test(text);
  return mayBeFormula && FORMULA.test(text) ? GUARD + text : text;
}

/**
 * The JSON that a cell of a column stands for. What does not fit the type stays text, so that the check of bodies can refuse
 * it in its own words.
 */
export function columnValue({ type }: Column, cell: Cell): JsonRead {
  if (cell === null) return value(null);
  if (WRITTEN_AS_JSON.includes(type)) return readJson(cell);
  const given = withoutGuard(cell);
  // An id of several kinds may be a text with spaces around it.
  if (FREE_TEXT.includes(type) || type === "mixed") return value(given);
  const text = type === "boolean" ? given.trim().toLowerCase() : given.trim();
  return value(COLUMN_TYPES[type].fromText(text) ?? given);
}

/** The JSON that a cell of a relation stands for: the id of a to-one relation, a JSON list for a to-many one. */
export function relationValue({ many }: Relation, target: Table, cell: Cell): JsonRead {
  if (cell === null) return value(many ? [] : null);
  return many ? readJson(cell) : columnValue(target.idColumn, cell);
}

function value(json: Json): JsonRead {
  return { kind: "json", json };
}

/** Removes what `cellOf` has added; a spreadsheet reads it the same way. */
function withoutGuard(cell: string): string {
  return cell.startsWith(GUARD) && FORMULA.test(cell) ? cell.slice(GUARD.length) : cell;
}
