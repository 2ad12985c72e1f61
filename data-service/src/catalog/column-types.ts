// The column types, one row each: what JSON they accept, what is stored, and what may be done with them.
import { isArray, type Json, type JsonObject, nestsDeeperThan } from "@portico/shared/json";
import { Decimal128, Double, type Long, ObjectId, UUID } from "bson";
import { bsonTypeOf, isStoredNumber, numberText, plainJson, uuidText } from "./bson-json.js";
import { compareDecimals, isExactDecimal, plainDecimal } from "./decimal.js";
import { INT64_MAX, INT64_MIN, int64 } from "./int64.js";
import { parseDay, parseInstant } from "./iso-date.js";
import { mixedIdText, parseMixedId } from "./mixed-id.js";
import type { Stored } from "./stored.js";

export const COLUMN_TYPE_NAMES = [
  "string",
  "text",
  "int",
  "bigint",
  "float",
  "decimal",
  "boolean",
  "date",
  "datetime",
  "enum",
  "enumList",
  "json",
  "uuid",
  "objectId",
] as const;

/** A type that a column can be declared with. */
export type DeclaredType = (typeof COLUMN_TYPE_NAMES)[number];

/** `mixed` is only for ids, in collections whose `_id`s are of several kinds. */
export type ColumnType = DeclaredType | "mixed";

/** Those that a column may be declared with, and the one for ids. */
export const ALL_TYPE_NAMES: readonly ColumnType[] = [...COLUMN_TYPE_NAMES, "mixed"];

/** For a message: `an int column`. */
export function aColumn(type: ColumnType): string {
  return `${/^[aeio]/.test(type) ? "an" : "a"} ${type} column`;
}

/** The operator families a type allows; see query/operators.ts. */
export type OperatorFamily = "equality" | "order" | "text" | "membership";

export interface ColumnTypeRow {
  /** Completes "must be …" in messages. */
  readonly expects: string;
  /** JSON -> stored value; undefined when the JSON does not fit. `values` are an enum's members. */
  parse(json: Json, values: readonly string[]): Stored | undefined;
  /**
   * Stored value -> JSON; the inverse of `parse`. In an adopted collection other tools may have stored something else: a
   * value that does not fit the type is shown as it is.
   */
  toJson(stored: unknown): Json;
  /** The JSON that a piece of address text stands for (bracket form); undefined when it fits nothing. */
  fromText(text: string): Json | undefined;
  readonly families: readonly OperatorFamily[];
  readonly sortable: boolean;
  /** Can be summed and averaged. */
  readonly numeric: boolean;
  /** Negative, zero or positive; only for types whose order the rules `min` and `max` can use. */
  readonly compare?: (a: Stored, b: Stored) => number;
  /** The JSON Schema of the type's values, for the metadata of tables. */
  readonly schema: Readonly<Record<string, Json>>;
  /** Of those that are taken, where there are more forms than are answered. */
  readonly given?: Readonly<Record<string, Json>>;
}

const ORDERED: readonly OperatorFamily[] = ["equality", "order"];
/** Keys in which JavaScript or the BSON writer sees more than a name. */
const SPECIAL_KEYS = ["__proto__", "_bsontype"];
/** Deeper JSON is refused: MongoDB allows 100 levels, and a record adds some of its own. */
const JSON_MAX_DEPTH = 50;
const MIDNIGHT = "T00:00:00.000Z";

const asIs = (text: string): Json => text;

function textRow(): ColumnTypeRow {
  return {
    expects: "text",
    parse: (json) => (typeof json === "string" && json.isWellFormed() ? json : undefined),
    toJson: ifText,
    fromText: asIs,
    families: ["equality", "order", "text"],
    sortable: true,
    numeric: false,
    schema: { type: "string" },
  };
}

function dateRow(parse: (text: string) => Date | undefined, toText: (date: Date) => string): ColumnTypeRow {
  return {
    expects: "",
    parse: (json) => (typeof json === "string" ? parse(json) : undefined),
    toJson: (stored) =>
      stored instanceof Date && !Number.isNaN(stored.getTime()) ? toText(stored) : plainJson(stored),
    fromText: asIs,
    families: ORDERED,
    sortable: true,
    numeric: false,
    compare: (a, b) => Number(a) - Number(b),
    schema: { type: "string" },
  };
}

/** Every column type, with everything that is particular to it. */
export const COLUMN_TYPES: Readonly<Record<ColumnType, ColumnTypeRow>> = {
  string: textRow(),
  text: textRow(),
  int: {
    expects: "a whole number",
    parse: (json) => (Number.isSafeInteger(json) && typeof json === "number" ? json : undefined),
    toJson: ifNumber,
    fromText: (text) => (/^-?\d{1,16}$/.test(text) ? Number(text) : undefined),
    families: ORDERED,
    sortable: true,
    numeric: true,
    compare: (a, b) => Number(a) - Number(b),
    schema: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  },
  bigint: {
    expects: `a whole number as text, from "${INT64_MIN}" to "${INT64_MAX}"`,
    parse: (json) => (typeof json === "string" ? parseInt64(json) : undefined),
    toJson: (stored) => numberText(stored) ?? plainJson(stored),
    fromText: asIs,
    families: ORDERED,
    sortable: true,
    numeric: true,
    compare: (a, b) => compareDecimals(String(a), String(b)),
    schema: { type: "string", pattern: "^-?\\d+$" },
  },
  float: {
    expects: "a number",
    parse: (json) => (typeof json === "number" && Number.isFinite(json) ? new Double(json) : undefined),
    toJson: ifNumber,
    fromText: (text) => (/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined),
    families: ORDERED,
    sortable: true,
    numeric: true,
    compare: (a, b) => Number(a) - Number(b),
    schema: { type: "number" },
  },
  decimal: {
    expects: 'a decimal number as text with at most 34 digits and no exponent, such as "19.90"',
    parse: (json) =>
      typeof json === "string" && isExactDecimal(json) ? Decimal128.fromString(json) : undefined,
    toJson: (stored) => numberText(stored) ?? plainJson(stored),
    fromText: asIs,
    families: ORDERED,
    sortable: true,
    numeric: true,
    compare: (a, b) => compareDecimals(plainDecimal(String(a)), plainDecimal(String(b))),
    schema: { type: "string", pattern: "^-?\\d+(\\.\\d+)?$" },
  },
  boolean: {
    expects: "true or false",
    parse: (json) => (typeof json === "boolean" ? json : undefined),
    toJson: (stored) => (typeof stored === "boolean" ? stored : plainJson(stored)),
    fromText: (text) => (text === "true" ? true : text === "false" ? false : undefined),
    families: ["equality"],
    sortable: true,
    numeric: false,
    schema: { type: "boolean" },
  },
  date: {
    ...dateRow(parseInstant, dayOf),
    expects: 'a day such as "2024-05-31"',
    parse: (json) => (typeof json === "string" ? parseDay(json) : undefined),
    schema: { type: "string", format: "date" },
  },
  datetime: {
    ...dateRow(parseInstant, (date) => date.toISOString()),
    expects:
      'an ISO 8601 time with its offset, in the years 0000 to 9999 of UTC, such as "2024-05-31T12:00:00Z"',
    schema: { type: "string", format: "date-time" },
  },
  enum: {
    expects: "one of the column's values",
    parse: (json, values) => (typeof json === "string" && values.includes(json) ? json : undefined),
    toJson: ifText,
    fromText: asIs,
    families: ORDERED,
    sortable: true,
    numeric: false,
    schema: { type: "string" },
  },
  enumList: {
    expects: "a list of the column's values",
    parse: (json, values) => {
      // Both may be long.
      const known = new Set<Json>(values);
      return isArray(json) && json.every((each) => known.has(each)) ? json.map(String) : undefined;
    },
    toJson: plainJson,
    fromText: asIs,
    families: ["membership"],
    sortable: false,
    numeric: false,
    schema: { type: "array", items: { type: "string" } },
  },
  json: {
    expects: `JSON of at most ${JSON_MAX_DEPTH} levels, without ${SPECIAL_KEYS.join(", ")} or a NUL in a name, a $ref beside an $id, broken Unicode or numbers too large`,
    parse: parseJsonValue,
    toJson: plainJson,
    fromText: asIs,
    families: [],
    sortable: false,
    numeric: false,
    schema: {},
  },
  uuid: {
    expects: 'a UUID such as "0190163d-8694-739b-aea5-966c26f8ad91"',
    parse: (json) =>
      typeof json === "string" && UUID.isValid(json) && json.length === 36 ? new UUID(json) : undefined,
    toJson: (stored) => uuidText(stored) ?? plainJson(stored),
    fromText: asIs,
    families: ORDERED,
    sortable: true,
    numeric: false,
    schema: { type: "string", format: "uuid" },
  },
  objectId: {
    expects: "24 hexadecimal digits",
    parse: (json) =>
      typeof json === "string" && /^[0-9a-f]{24}$/i.test(json) ? new ObjectId(json) : undefined,
    toJson: (stored) => (bsonTypeOf(stored) === "ObjectId" ? String(stored) : plainJson(stored)),
    fromText: asIs,
    families: ORDERED,
    sortable: true,
    numeric: false,
    schema: { type: "string", pattern: "^[0-9a-f]{24}$" },
    given: { type: "string", pattern: "^[0-9a-fA-F]{24}$" },
  },
  mixed: {
    expects: "the id of a record as text, in the form in which it is answered",
    parse: (json) => (typeof json === "string" ? parseMixedId(json) : undefined),
    toJson: mixedIdText,
    fromText: asIs,
    // Ids of different kinds have no order that a comparison could mean; for sorting, MongoDB's own order will do.
    families: ["equality"],
    sortable: true,
    numeric: false,
    schema: { type: "string" },
  },
};

/** Are its values texts of any words? Only such columns can be searchable, and so may have been. */
export function isText(type: ColumnType): boolean {
  return type === "string" || type === "text";
}

export function canBeUnique(type: ColumnType): boolean {
  return type !== "json" && type !== "enumList";
}

/** @returns the same for types whose values compare alike with every operand that they have in common */
export function comparedAs(type: ColumnType): ColumnType {
  if (COLUMN_TYPES[type].numeric) return "float";
  return type === "text" || type === "enum" ? "string" : type;
}

/** Other programs may store years with more than four digits, and a time of day, by which no filter finds the day. */
function dayOf(date: Date): string {
  const time = date.toISOString();
  return time.endsWith(MIDNIGHT) ? time.slice(0, -MIDNIGHT.length) : time;
}

function ifText(stored: unknown): Json {
  return typeof stored === "string" ? stored : plainJson(stored);
}

/** NaN and the infinities have no JSON; they become null. */
function ifNumber(stored: unknown): Json {
  return isStoredNumber(stored) ? plainJson(Number(stored)) : plainJson(stored);
}

function parseInt64(text: string): Long | undefined {
  return /^-?\d{1,19}$/.test(text) ? int64(text) : undefined;
}

function parseJsonValue(json: Json): Stored | undefined {
  if (json === null || nestsDeeperThan(json, JSON_MAX_DEPTH) || !hasStorableText(json)) return undefined;
  return json;
}

/** The driver reads it as a MongoDB reference, which has lost the order of its keys and may have cut the text. */
function isReference({ $ref, $id }: JsonObject): boolean {
  return typeof $ref === "string" && $id !== undefined && $id !== null;
}

/** BSON keys can't hold a NUL, and BSON text no unpaired surrogates. */
function hasStorableText(json: Json): boolean {
  if (typeof json === "string") return json.isWellFormed();
  if (typeof json === "number") return Number.isFinite(json);
  if (typeof json !== "object" || json === null) return true;
  if (isArray(json)) return json.every(hasStorableText);
  if (isReference(json)) return false;
  return Object.entries(json).every(
    ([key, value]) =>
      !key.includes("\0") && key.isWellFormed() && !SPECIAL_KEYS.includes(key) && hasStorableText(value),
  );
}
