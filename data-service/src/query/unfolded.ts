// How large the records of an answer come out, and what they take in memory. Related records that were read for many are
// shared by all that show them; the answer writes them out for each of these, so a few of them can become millions. Pure.
import { bsonTypeOf, isBinary } from "../catalog/bson-json.js";
import type { AuthorizedNode } from "./ast.js";
import type { StoredRecord } from "./lower/document.js";
import { childField } from "./lower/read.js";

/** What a record costs besides its values: its names and its braces. */
const RECORD = 64;
/** What a value costs that is not text: a number, a date, an id. */
const VALUE = 8;
/** What these take in memory besides what is in them, measured: a list has places for seventeen values from the first one on. */
const HELD = { text: 16, object: 48, list: 160, emptyList: 32, date: 112 };
/** The same for the database's own kinds of values. */
const HELD_BSON: Readonly<Record<string, number>> = { ObjectId: 56, Long: 48, Decimal128: 152, Binary: 232 };
const HELD_OTHER = 100;

type SizeOf = (document: StoredRecord) => number;
type SizeOfValue = (value: unknown) => number;

/**
 * Roughly how many bytes each document comes out as, with its related records. Each related record is looked at only once,
 * however often it is shown.
 */
export function unfoldedSizes(node: AuthorizedNode, documents: readonly StoredRecord[]): number[] {
  return documents.map(sizeOfRecord(node, sizeOfValue));
}

/** The same in memory, where lists and objects of small values take many times what they come out as. */
export function heldSizes(node: AuthorizedNode, documents: readonly StoredRecord[]): number[] {
  return documents.map(sizeOfRecord(node, heldByValue));
}

function sizeOfRecord(node: AuthorizedNode, sizeOfColumn: SizeOfValue): SizeOf {
  const fields = node.columns.map(({ field }) => field);
  const children = node.children.map((child) => ({
    field: childField(child),
    sizeOf: once(sizeOfRecord(child.node, sizeOfColumn)),
  }));
  return (document) => {
    let size = RECORD + (node.children.length + node.counts.length) * VALUE;
    for (const field of fields) size += sizeOfColumn(document[field]);
    for (const { field, sizeOf } of children) {
      const joined = document[field];
      if (Array.isArray(joined)) for (const each of joined) size += sizeOf(each);
    }
    return size;
  };
}

function once(sizeOf: SizeOf): SizeOf {
  const known = new Map<StoredRecord, number>();
  return (document) => {
    const before = known.get(document);
    if (before !== undefined) return before;
    const size = sizeOf(document);
    known.set(document, size);
    return size;
  };
}

/** A column's value nests no deeper than the database allows. */
function sizeOfValue(value: unknown): number {
  if (!isStructure(value)) return sizeOfLeaf(value);
  return Object.entries(value).reduce((sum, [name, each]) => sum + name.length + sizeOfValue(each), 0);
}

function heldByValue(value: unknown): number {
  if (typeof value === "string") return HELD.text + sizeOfLeaf(value);
  if (typeof value !== "object" || value === null) return VALUE;
  if (value instanceof Date) return HELD.date + VALUE;
  const type = bsonTypeOf(value);
  if (type !== undefined) return (HELD_BSON[type] ?? HELD_OTHER) + sizeOfLeaf(value);
  if (Array.isArray(value)) {
    const own = value.length === 0 ? HELD.emptyList : HELD.list;
    return value.reduce((sum: number, each) => sum + heldByValue(each), own);
  }
  return Object.entries(value).reduce(
    (sum, [name, each]) => sum + name.length + heldByValue(each),
    HELD.object,
  );
}

function isStructure(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return !(value instanceof Date || bsonTypeOf(value) !== undefined);
}

function sizeOfLeaf(value: unknown): number {
  if (typeof value === "string") return VALUE + value.length;
  return isBinary(value) ? VALUE + value.length() : VALUE;
}
