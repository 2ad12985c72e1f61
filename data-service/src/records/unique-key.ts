// Stored values -> a text that is the same for all that a unique index considers equal. Pure.
import { hash } from "node:crypto";
import { EJSON } from "bson";
import { bsonTypeOf, isStoredNumber } from "../catalog/bson-json.js";
import { plainDecimal } from "../catalog/decimal.js";

/** Short however long the values are, whichever copy of the BSON library made them. */
export function uniqueKey(fields: readonly string[], values: readonly unknown[]): string {
  // The relaxed form, which is the default, rounds large numbers.
  const text = EJSON.stringify({ fields, values: values.map(comparable) }, { relaxed: false });
  return hash("sha256", text, "base64");
}

/** Numbers are equal by value, whatever their type; objects only with their members in the same order. */
function comparable(value: unknown): unknown {
  if (isStoredNumber(value)) return { number: comparableNumber(value) };
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null || isSingle(value)) return value;
  return { members: Object.entries(value).map(([name, member]) => [name, comparable(member)]) };
}

function isSingle(value: object): boolean {
  return value instanceof Date || value instanceof RegExp || bsonTypeOf(value) !== undefined;
}

function comparableNumber(value: unknown): string {
  const type = bsonTypeOf(value);
  if (type === "Long" || type === "Decimal128") return shortest(plainDecimal(String(value)));
  const number = Number(value);
  // The double nearest to 0.1 is not the same number as the decimal 0.1.
  return Number.isInteger(number) ? String(BigInt(number)) : `double ${number}`;
}

/** Without what does not change the value: `1.50` becomes `1.5`, `-0.0` becomes `0`. */
function shortest(decimal: string): string {
  const text = decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;
  return text === "-0" ? "0" : text;
}
