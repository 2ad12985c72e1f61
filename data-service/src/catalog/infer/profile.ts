// What was seen of a collection that other programs made: the kinds of values in its fields, and its unique indexes.
import { bsonTypeOf, isBinary, uuidText } from "../bson-json.js";

/** The type of an object that is a reference: a text `$ref` beside an `$id`. No such object is written back. */
export const REFERENCE = "DBRef";

/** Values of one BSON type in one field, or in the lists of one field. */
export interface Seen {
  /** MongoDB's name of the type: `string`, `int`, `objectId` …, or REFERENCE. Never null. */
  readonly type: string;
  /** How many values. */
  readonly count: number;
  /** For numbers and bytes. Bytes are ordered by length first, then by subtype. */
  readonly least?: unknown;
  readonly greatest?: unknown;
  /** For texts, in characters. */
  readonly shortest?: number;
  readonly longest?: number;
  /** How many of the numbers are not whole. */
  readonly fractions?: number;
}

export interface FieldProfile {
  readonly name: string;
  readonly values: readonly Seen[];
  /** What the values that are lists contain; null may be among it. */
  readonly members: readonly Seen[];
  /** The different texts in its lists, if they are few and the lists contain nothing else. */
  readonly words?: readonly string[];
}

export interface CollectionProfile {
  readonly name: string;
  /** How many documents were looked at. */
  readonly documents: number;
  /** Whether these are all documents. */
  readonly complete: boolean;
  /** All fields but `_id`, in the order of the documents. */
  readonly fields: readonly FieldProfile[];
  /** The kinds of `_id`; they are certain even if not all documents were looked at. */
  readonly ids: readonly Seen[];
  /** The fields of each unique index that covers all documents, or all that have the fields. */
  readonly uniques: readonly (readonly string[])[];
  /** How many indexes others have made, whatever they are; that on `_id` counts as well. */
  readonly indexes: number;
}

/** Kinds that matter here; values of the kind `other` can only be shown in JSON. */
export type Kind =
  | "text"
  | "whole"
  | "long"
  | "fraction"
  | "decimal"
  | "flag"
  | "time"
  | "objectId"
  | "uuid"
  | "object"
  | "list"
  | "bytes"
  | "other";

const KINDS: Readonly<Record<string, Kind>> = {
  string: "text",
  int: "whole",
  double: "fraction",
  decimal: "decimal",
  bool: "flag",
  date: "time",
  objectId: "objectId",
  object: "object",
  array: "list",
};

/** The kind of values of one BSON type. */
export function kindOfSeen({ type, least, greatest }: Seen): Kind {
  if (type === "long") return isSafe(least) && isSafe(greatest) ? "whole" : "long";
  if (type === "binData") return isUuid(least) && isUuid(greatest) ? "uuid" : "bytes";
  return KINDS[type] ?? "other";
}

/** The different kinds in a list of what was seen. */
export function kindsOf(seen: readonly Seen[]): ReadonlySet<Kind> {
  return new Set(seen.map(kindOfSeen));
}

/** Is it a whole number that JSON holds? */
export function isSafe(value: unknown): boolean {
  return Number.isSafeInteger(value) || (bsonTypeOf(value) === "Long" && Number.isSafeInteger(Number(value)));
}

/** All bytes between two UUIDs are UUIDs: they have the same length and subtype. */
function isUuid(value: unknown): boolean {
  return isBinary(value) && uuidText(value) !== undefined;
}

/** How many documents have a value in the field. */
export function filled({ values }: FieldProfile): number {
  return values.reduce((sum, { count }) => sum + count, 0);
}
