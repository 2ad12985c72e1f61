// Any BSON value -> JSON for people: its plain spelling, which need not be readable back.
import type { Json } from "@portico/shared/json";
import type { Binary } from "bson";
import { plainDecimal } from "./decimal.js";

/** What every copy of the library marks its values with. */
const MARK = Symbol.for("@@mdb.bson.version");

/**
 * The type of a BSON value. `instanceof` would not recognise the driver's values, which come from its own copy of the library;
 * a stored object may have a `_bsontype` of its own, where a program has saved a clone of such a value.
 */
export function bsonTypeOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !("_bsontype" in value && MARK in value))
    return undefined;
  return String(value._bsontype);
}

/** False where an object says it is a BSON value and is none, or has one inside that does: the driver does not send such a thing. */
export function isStorable(value: unknown): boolean {
  if (typeof value !== "object" || value === null || MARK in value) return true;
  return !("_bsontype" in value) && Object.values(value).every(isStorable);
}

/** True for BSON bytes, whoever made them. */
export function isBinary(value: unknown): value is Binary {
  return bsonTypeOf(value) === "Binary";
}

const UUID_SUBTYPE = 4;

/** The spelling of bytes that are marked as a UUID, in the order that the standard gives them. */
export function uuidText(value: unknown): string | undefined {
  const isUuid = isBinary(value) && value.sub_type === UUID_SUBTYPE && value.position === 16;
  return isUuid ? value.toUUID().toHexString() : undefined;
}

/** True for every kind of number. */
export function isStoredNumber(value: unknown): boolean {
  const type = bsonTypeOf(value);
  return typeof value === "number" || (type !== undefined && NUMBERS.includes(type));
}

const NUMBERS = ["Double", "Int32", "Long", "Decimal128"];

/**
 * A stored number in digits, in full; undefined for NaN and the infinities, which have none, and for what is no number.
 */
export function numberText(value: unknown): string | undefined {
  const text = isStoredNumber(value) ? String(value) : "";
  return /\d/.test(text) ? plainDecimal(text) : undefined;
}

/**
 * Any stored value as JSON: numbers, dates and ids in their usual spelling, bytes as base64, UUIDs as UUIDs, and null for
 * what JSON can't express (NaN, a time beyond the calendar).
 */
export function plainJson(stored: unknown): Json {
  if (typeof stored === "number") return Number.isFinite(stored) ? stored : null;
  if (typeof stored === "string" || typeof stored === "boolean") return stored;
  if (typeof stored === "bigint") return String(stored);
  if (typeof stored !== "object" || stored === null) return null;
  if (Array.isArray(stored)) return stored.map(plainJson);
  if (stored instanceof Date) return Number.isNaN(stored.getTime()) ? null : stored.toISOString();
  if (stored instanceof RegExp) return String(stored);
  const type = bsonTypeOf(stored);
  if (type === undefined) return plainObject(stored);
  if (isBinary(stored)) return uuidText(stored) ?? stored.toString("base64");
  return SPELLINGS[type]?.(stored) ?? null;
}

/** BSON values by their type; all others have no JSON. */
const SPELLINGS: Readonly<Record<string, (stored: object) => Json>> = {
  ObjectId: String,
  Long: String,
  Timestamp: String,
  BSONSymbol: String,
  Double: (stored) => plainJson(Number(stored)),
  Int32: (stored) => plainJson(Number(stored)),
  Decimal128: (stored) => numberText(stored) ?? null,
  DBRef: (stored) => plainObject(reference(stored)),
  Code: (stored) => ("code" in stored ? String(stored.code) : null),
  BSONRegExp: (stored) => ("pattern" in stored ? String(stored.pattern) : null),
};

function reference(stored: object): object {
  const db = "db" in stored && typeof stored.db === "string" ? { $db: stored.db } : {};
  return {
    $ref: "collection" in stored ? stored.collection : null,
    $id: "oid" in stored ? stored.oid : null,
    ...("fields" in stored && typeof stored.fields === "object" ? stored.fields : {}),
    ...db,
  };
}

function plainObject(stored: object): Json {
  return Object.fromEntries(Object.entries(stored).map(([key, value]) => [key, plainJson(value)]));
}
