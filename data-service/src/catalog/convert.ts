// A value of one column type -> the value another type has for it, when a column's type is changed.
import { isArray, type Json } from "../json.js";
import type { Column } from "./catalog.js";
import { COLUMN_TYPES, type ColumnType, type Stored } from "./column-types.js";
import { compareDecimals, plainDecimal } from "./decimal.js";

export interface Converted {
  /** Undefined when the new type has no value for it. */
  readonly value: Stored | undefined;
  /** Nothing of the old value is missing in the new one. */
  readonly exact: boolean;
}

/**
 * Converts the JSON form of a stored value.
 * @param from the type it has
 * @param to the column it shall fit; its rules are not looked at
 */
export function convertValue(json: Json, from: ColumnType, to: Pick<Column, "type" | "values">): Converted {
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
  if (to.type === "enumList") return [keptMembers(isArray(json) ? json : [textOf(json)], to.values)];
  if (isArray(json) && from === "enumList" && json.length === 1) return [json[0] ?? null];
  const text = textOf(json);
  if (to.type === "string" || to.type === "text") return [text];
  if (to.type === "boolean" && isNumber(from)) return [text === "1" ? true : text === "0" ? false : null];
  if (from === "boolean" && isNumber(to.type)) return numbers(json === true ? "1" : "0", to.type);
  if (isNumber(from) && isNumber(to.type)) return numbers(plainDecimal(text), to.type);
  if (from === "datetime" && to.type === "date") return [text.slice(0, 10)];
  const read = COLUMN_TYPES[to.type].fromText(text.trim());
  return read === undefined ? [json] : [json, read];
}

function isNumber(type: ColumnType): boolean {
  return COLUMN_TYPES[type].numeric;
}

function keptMembers(list: readonly Json[], values: readonly string[]): Json {
  return list.filter((each) => typeof each === "string" && values.includes(each));
}

/** The spellings of a plain decimal in a numeric type. */
function numbers(decimal: string, to: ColumnType): Json[] {
  const whole = decimal.replace(/\.0+$/, "");
  if (to === "decimal") return [decimal];
  if (to === "bigint") return [whole];
  const number = Number(whole);
  return to === "int" && compareDecimals(plainDecimal(String(number)), whole) !== 0 ? [] : [number];
}

function textOf(json: Json): string {
  return typeof json === "string" ? json : JSON.stringify(json);
}

function isExact(json: Json, given: Json, back: Json, from: ColumnType, to: ColumnType): boolean {
  if (to === "enumList") return isArray(back) && back.length === (isArray(json) ? json.length : 1);
  if (from === "datetime" && to === "date") return json === `${String(back)}T00:00:00.000Z`;
  if (isNumber(from) && isNumber(to))
    return compareDecimals(plainDecimal(textOf(json)), plainDecimal(textOf(back))) === 0;
  if (given === null) return false;
  const text = isArray(json) && json.length === 1 ? json[0] : json;
  if (typeof text !== "string") return true;
  if (isNumber(to)) return isSameNumber(text.trim(), textOf(back));
  return !(to === "datetime" && FINER_THAN_MILLISECONDS.test(text));
}

/** `01067` is no number but a code, and would not come back. */
const LEADING_ZERO = /^-?0\d/;
const NO_DIGITS = /^-?[0.]+(?:e|$)/i;
const FINER_THAN_MILLISECONDS = /\.\d{3}\d*[1-9]/;

/** @param text a plain decimal, with an exponent or without, of which a numeric type made `back` */
function isSameNumber(text: string, back: string): boolean {
  if (LEADING_ZERO.test(text)) return false;
  // An exponent that makes a number nothing may be too large to be written out.
  if (Number(back) === 0) return NO_DIGITS.test(text);
  return compareDecimals(plainDecimal(text), plainDecimal(back)) === 0;
}
