// A value of one column type -> the corresponding value of another type, for when a column's type is changed.
import { isArray, type Json } from "@portico/shared/json";
import { readJson } from "@portico/shared/read-json";
import type { Column } from "./catalog.js";
import { COLUMN_TYPES, type ColumnType } from "./column-types.js";
import { compareDecimals, isPlainDecimal, plainDecimal } from "./decimal.js";
import type { Stored } from "./stored.js";

export interface Converted {
  /** Undefined when the new type has no corresponding value. */
  readonly value: Stored | undefined;
  /** Nothing of the old value is lost in the new one. */
  readonly exact: boolean;
}

/**
 * Converts the JSON form of a stored value.
 * @param from the type it has
 * @param to the column that it should fit; its rules are ignored
 */
export function convertValue(json: Json, from: ColumnType, to: Pick<Column, "type" | "values">): Converted {
  // There is a value all the same, but JSON can't express it.
  if (json === null) return { value: undefined, exact: false };
  const { parse, toJson } = COLUMN_TYPES[to.type];
  for (const candidate of candidates(json, from, to)) {
    const value = parse(candidate, to.values);
    if (value !== undefined) return { value, exact: isExact(json, candidate, toJson(value), from, to.type) };
  }
  return { value: undefined, exact: false };
}

/** What to try, the most faithful first. */
function candidates(json: Json, from: ColumnType, to: Pick<Column, "type" | "values">): Json[] {
  if (to.type === "json") return [json];
  if (to.type === "enumList") return [keptMembers(membersIn(json, to.values), to.values)];
  if (isArray(json) && from === "enumList" && json.length === 1) return [json[0] ?? null];
  const text = textOf(json);
  if (to.type === "string" || to.type === "text") return [text];
  if (to.type === "boolean" && isNumber(from)) return [text === "1" ? true : text === "0" ? false : null];
  // Other programs store anything in a column, numbers among truths and texts among numbers.
  if (typeof json === "boolean" && from === "boolean" && isNumber(to.type))
    return numbers(json ? "1" : "0", to.type);
  const decimal = typeof json === "number" ? plainDecimal(text) : text;
  if (isNumber(from) && isNumber(to.type) && isPlainDecimal(decimal)) return numbers(decimal, to.type);
  if (isDay(from, to.type)) return [text.slice(0, 10)];
  const read = COLUMN_TYPES[to.type].fromText(text.trim());
  return read === undefined ? [json] : [json, read];
}

/** Other programs store times of day in `date` columns, too. */
function isDay(from: ColumnType, to: ColumnType): boolean {
  return to === "date" && (from === "datetime" || from === "date");
}

function isNumber(type: ColumnType): boolean {
  return COLUMN_TYPES[type].numeric;
}

/** A text is a member, or the list that several members become as text. */
function membersIn(json: Json, values: readonly string[]): readonly Json[] {
  if (isArray(json)) return json;
  const text = textOf(json);
  if (values.includes(text) || !text.trimStart().startsWith("[")) return [text];
  const read = readJson(text);
  return read.kind === "json" && isArray(read.json) ? read.json : [text];
}

/** Null when there are members and none is kept: an empty list would read like an answer. */
function keptMembers(list: readonly Json[], values: readonly string[]): Json {
  const kept = list.filter((each) => typeof each === "string" && values.includes(each));
  return kept.length === 0 && list.length > 0 ? null : kept;
}

/** The spellings of a plain decimal in a numeric type. */
function numbers(decimal: string, to: ColumnType): Json[] {
  const whole = decimal.replace(/\.0+$/, "");
  if (to === "decimal") return [decimal];
  if (to === "bigint") return [whole];
  const number = Number(whole);
  if (to !== "int") return [number];
  return Number.isSafeInteger(number) && compareDecimals(String(number), whole) === 0 ? [number] : [];
}

function textOf(json: Json): string {
  return typeof json === "string" ? json : JSON.stringify(json);
}

function isExact(json: Json, given: Json, back: Json, from: ColumnType, to: ColumnType): boolean {
  if (to === "enumList" && isArray(json)) return isArray(back) && back.length === json.length;
  // Back in the JSON column it would be a text that was none, or none that was one.
  if (from === "json" && typeof json !== typeof back) return false;
  if (to === "enumList") return textOf(alone(back) ?? null) === textOf(json);
  if (isDay(from, to)) return json === back || json === `${String(back)}T00:00:00.000Z`;
  const [text, written] = [alone(json), textOf(back)];
  // A decimal is kept as it is written: `1.10` is not `1.1`. So is a text among numbers.
  if (typeof json === "number" && isNumber(from) && isNumber(to))
    return compareDecimals(plainDecimal(textOf(json)), plainDecimal(written)) === 0;
  if (given === null) return false;
  if (typeof text !== "string") return true;
  // `01067`, `1e3` and ` 12` may be codes, which could not be restored.
  if (isNumber(to)) return text === written || text === plainDecimal(written);
  if (given !== json && text !== text.trim()) return false;
  // Ids are written in small letters from then on.
  if (to === "uuid" || to === "objectId") return text === written;
  // A time is the same with another offset.
  return !(to === "datetime" && FINER_THAN_MILLISECONDS.test(text));
}

/** The only member of a list, or a value that is not a list. */
function alone(json: Json): Json | undefined {
  return isArray(json) && json.length === 1 ? json[0] : json;
}

const FINER_THAN_MILLISECONDS = /\.\d{3}\d*[1-9]/;
