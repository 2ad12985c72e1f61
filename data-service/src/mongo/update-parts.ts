// Parts of updates that are pipelines: numbers that go up, and lists of links that get an id or lose some.
import { MOVES_FIELD, VERSION_FIELD } from "../catalog/own-fields.js";
import type { Stored } from "../catalog/stored.js";
import type { Document } from "../query/lower/document.js";

/** A field's number, which is 0 where there is none, and this. */
export function sumWith(field: string, by: number): Document {
  return { $add: [{ $ifNull: [`$${field}`, 0] }, by] };
}

/** Sets a field to the next number. */
export function oneMore(field: string): Document {
  return { [field]: sumWith(field, 1) };
}

export const NEXT_VERSION = oneMore(VERSION_FIELD);
const NEXT_MOVE = { ...NEXT_VERSION, ...oneMore(MOVES_FIELD) };

/** The list of links in a field; another program may have written null there, or a single link. */
export function listIn(field: string): Document {
  const single = { $cond: [{ $eq: [{ $ifNull: [`$${field}`, null] }, null] }, [], [`$${field}`]] };
  return { $cond: [{ $isArray: `$${field}` }, `$${field}`, single] };
}

/** A change of a list of links: in which records, and what is set in them. */
export interface ListChange {
  readonly having: Document;
  readonly set: Document;
}

/** Removes ids from a list. An empty list is stored as no value, however it became empty. */
export function listWithout(field: string, ids: readonly Stored[]): ListChange {
  const isOther = { $not: { $in: ["$$this", { $literal: [...ids] }] } };
  const others = { $filter: { input: listIn(field), cond: isOther } };
  const left = { $cond: [{ $eq: ["$$others", []] }, "$$REMOVE", "$$others"] };
  const set = { [field]: { $let: { vars: { others }, in: left } }, ...NEXT_MOVE };
  return { having: { [field]: { $in: [...ids] } }, set };
}

/** Adds an id to a list. */
export function listWith(field: string, id: Stored): ListChange {
  const longer = { $concatArrays: [listIn(field), [{ $literal: id }]] };
  return { having: { [field]: { $ne: id } }, set: { [field]: longer, ...NEXT_MOVE } };
}
