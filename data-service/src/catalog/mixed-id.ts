// Ids of several kinds in one collection, as text that says which kind it is.
//
// A text id is written as it is, unless it could be mistaken for another kind; then it is in quotation marks:
//   507f1f77bcf86cd799439011               an ObjectId
//   0190163d-8694-739b-aea5-966c26f8ad91   a UUID
//   5, -3, 1.5                             a number
//   anything else                          a text
//   "5", "\"quoted\""                      a text that would be one of the others, as JSON
//   {"$date":"…"}, {"year":2024}           everything else, as Extended JSON
import { type Json, nestsDeeperThan } from "@portico/shared/json";
import { EJSON, ObjectId, UUID } from "bson";
import { bsonTypeOf, isStorable, plainJson, uuidText } from "./bson-json.js";
import { int64 } from "./int64.js";
import type { Stored } from "./stored.js";

const OBJECT_ID = /^[0-9a-f]{24}$/;
const UUID_TEXT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const WHOLE = /^-?(?:0|[1-9]\d{0,18})$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/;
const MAX_DEPTH = 20;
/** Kinds that are equal to nothing but themselves. A pattern or code among the ids of a filter would be a condition. */
const PLAIN_KINDS = ["ObjectId", "Binary", "Long", "Double", "Int32", "Decimal128", "Timestamp"];

/** The id that a text stands for; undefined when it can be no id. */
export function parseMixedId(text: string): Stored | undefined {
  if (!text.isWellFormed()) return undefined;
  if (OBJECT_ID.test(text)) return new ObjectId(text);
  if (UUID_TEXT.test(text)) return new UUID(text);
  if (NUMBER.test(text)) return parseNumber(text);
  if (text.startsWith('"')) return parseQuoted(text);
  return text.startsWith("{") ? parseExtended(text) : text;
}

/** The text that stands for a stored id; null for an id that is null. */
export function mixedIdText(stored: unknown): Json {
  if (stored === null || stored === undefined) return null;
  if (typeof stored === "string") return parseMixedId(stored) === stored ? stored : JSON.stringify(stored);
  if (bsonTypeOf(stored) === "ObjectId" || bsonTypeOf(stored) === "Long") return String(stored);
  if (typeof stored === "number" && Number.isFinite(stored)) return String(stored);
  const uuid = uuidText(stored);
  if (uuid !== undefined) return uuid;
  if (!isStorable(stored)) return plainJson(stored);
  const extended = EJSON.stringify({ id: stored }, { relaxed: true });
  // A lone true or false is no object; it is listed, and nobody can ask for it.
  return extended.slice('{"id":'.length, -1);
}

function parseNumber(text: string): Stored | undefined {
  const number = Number(text);
  if (Number.isSafeInteger(number) || !WHOLE.test(text))
    return Number.isFinite(number) ? number + 0 : undefined;
  return int64(text);
}

function parseQuoted(text: string): string | undefined {
  const json = readJson(text);
  return typeof json === "string" && json.isWellFormed() ? json : undefined;
}

function parseExtended(text: string): Stored | undefined {
  const json = readJson(text);
  // The names would be interpreted before we could look at them.
  const isSpecial = text.includes("_bsontype") || text.includes("__proto__") || text.includes("\\u0000");
  if (json === undefined || isSpecial || nestsDeeperThan(json, MAX_DEPTH)) return undefined;
  try {
    const id = EJSON.parse(text, { relaxed: true });
    // `{"$undefined":true}` is null.
    return id !== null && isPlain(id) ? id : undefined;
  } catch {
    // A wrapper such as {"$oid":…} around something that does not belong into it.
    return undefined;
  }
}

function readJson(text: string): Json | undefined {
  try {
    const json: Json = JSON.parse(text);
    return json;
  } catch {
    return undefined;
  }
}

/** True for a value that can stand in a condition, and means only itself there: no operators, no patterns. */
export function isPlain(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  // What every object has, where a field is named like that.
  if (typeof value === "function") return false;
  if (typeof value !== "object" || value === null) return true;
  if (value instanceof Date) return !Number.isNaN(value.getTime());
  if (Array.isArray(value)) return value.every(isPlain);
  const type = bsonTypeOf(value);
  if (type !== undefined) return PLAIN_KINDS.includes(type);
  if (value instanceof RegExp || "_bsontype" in value) return false;
  return Object.entries(value).every(
    ([key, inner]) => !key.startsWith("$") && key.isWellFormed() && isPlain(inner),
  );
}
