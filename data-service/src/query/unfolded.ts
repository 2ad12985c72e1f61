// How large the records of an answer come out. Related records that were read for many are shared by all that show them; the
// answer writes them out for each of these, so a few of them can become millions. Pure.
import { bsonTypeOf, isBinary } from "../catalog/bson-json.js";
import type { AuthorizedNode } from "./ast.js";
import type { StoredRecord } from "./lower/document.js";
import { isKeyOnly } from "./lower/joined-or-together.js";
import { childField } from "./lower/read.js";

/** What a record costs besides its values: its names and its braces. */
const RECORD = 64;
/** What a value costs that is not text: a number, a date, an id. */
const VALUE = 8;

type SizeOf = (document: StoredRecord) => number;

/**
 * Roughly how many bytes each document comes out as, with its related records. Each related record is looked at only once,
 * however often it is shown.
 */
export function unfoldedSizes(node: AuthorizedNode, documents: readonly StoredRecord[]): number[] {
  return documents.map(sizeOfRecord(node));
}

function sizeOfRecord(node: AuthorizedNode): SizeOf {
  const fields = node.columns.map(({ field }) => field);
  const children = node.children
    .filter((child) => !isKeyOnly(child))
    .map((child) => ({ field: childField(child), sizeOf: once(sizeOfRecord(child.node)) }));
  return (document) => {
    let size = RECORD + (node.children.length + node.counts.length) * VALUE;
    for (const field of fields) size += sizeOfValue(document[field]);
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
  if (typeof value === "string") return VALUE + value.length;
  if (typeof value !== "object" || value === null) return VALUE;
  if (isBinary(value)) return VALUE + value.length();
  if (value instanceof Date || bsonTypeOf(value) !== undefined) return VALUE;
  const inside = Object.entries(value);
  return inside.reduce((sum, [name, each]) => sum + name.length + sizeOfValue(each), VALUE);
}
