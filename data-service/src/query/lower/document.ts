// MongoDB's query documents as types, and the small pieces that every lowering shares.
import type { BSONRegExp } from "bson";
import type { Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";

/** Any value that may be part of a pipeline. */
export type Value = Stored | null | BSONRegExp | Value[] | Document;
export interface Document {
  [key: string]: Value;
}

/** One stage of an aggregation pipeline. */
export type Stage = Document;

/** A document as the driver returns it. */
export type StoredRecord = Readonly<Record<string, unknown>>;

/** A $match document without conditions; these two constants are recognised and folded away. */
export const MATCH_ALL: Document = {};
/** No document has an id out of an empty list; the database's planner knows that and reads nothing. */
export const MATCH_NONE: Document = { _id: { $in: [] } };

/** A list, which a comparison would take for each of its members. */
export const LIST: Document = { $type: "array" };
export const NO_LIST: Document = { $not: LIST };

/** ANDs conditions, leaving out empty ones. */
export function allOf(conditions: readonly Document[]): Document {
  if (conditions.includes(MATCH_NONE)) return MATCH_NONE;
  const needed = conditions.filter((condition) => Object.keys(condition).length > 0);
  const [only] = needed;
  if (only === undefined) return MATCH_ALL;
  return needed.length === 1 ? only : { $and: needed };
}

/** ORs conditions, leaving out those that are never true. */
export function anyOf(conditions: readonly Document[]): Document {
  if (conditions.includes(MATCH_ALL)) return MATCH_ALL;
  const needed = conditions.filter((condition) => condition !== MATCH_NONE);
  const [only] = needed;
  if (only === undefined) return MATCH_NONE;
  return needed.length === 1 ? only : { $or: needed };
}

/**
 * The types of a value that is neither null nor a list, including those that only other programs store in an adopted
 * collection.
 */
export const SINGLE_TYPES: readonly string[] = [
  ...["string", "number", "bool", "object", "date", "objectId", "binData", "timestamp"],
  ...["regex", "javascript", "symbol", "dbPointer", "minKey", "maxKey"],
];

/** A record as it will be, while another state of it is stored. */
export interface Changed {
  readonly table: Table;
  /** With its id, and the fields that are asked for. */
  readonly document: Document;
}

/** Names for joined values; no stored field begins with two underscores. */
export class Names {
  #count = 0;
  /** Where a link leads to this record, it is found as it will be. */
  readonly changed: Changed | undefined;

  constructor(changed?: Changed) {
    this.changed = changed;
  }

  next(): string {
    this.#count += 1;
    return `__${this.#count}`;
  }
}

/** The stage that lets only documents of this condition pass; none where all do. */
export function matching(condition: Document): Stage[] {
  return condition === MATCH_ALL ? [] : [{ $match: condition }];
}
