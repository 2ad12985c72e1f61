// What was read from the database goes back into it: as a value, and as the condition that it is still the same.
import { isStorable } from "../catalog/bson-json.js";
import type { LinkField } from "../catalog/catalog.js";
import { isPlain } from "../catalog/mixed-id.js";
import type { Stored } from "../catalog/stored.js";
import { type Document, LIST, NO_LIST, type StoredRecord } from "./lower/document.js";

/**
 * The only place that assumes this: ids, links and other values of a document that was read are neither absent nor null.
 */
export function asStored(value: unknown): Stored {
  return value as Stored;
}

/**
 * The id in a field. What another program has written where one should be leads nowhere: null, a list, and what is a condition
 * or no value of BSON.
 */
export function linkIn(value: unknown): Stored[] {
  const leadsNowhere = value === null || value === undefined || Array.isArray(value) || !isPlain(value);
  return leadsNowhere ? [] : [asStored(value)];
}

/**
 * The ids in a field; another program may have written null there, or a single id in the place of a list.
 * @param link where it is known to hold one
 */
export function linksIn(value: unknown, { list }: Pick<LinkField, "list"> = { list: true }): Stored[] {
  return list && Array.isArray(value) ? value.filter(isPlain).map(asStored) : linkIn(value);
}

/** What a document has in a field. An earlier version has let in fields like `constructor`, which every object seems to have. */
export function valueIn(document: StoredRecord, field: string): unknown {
  return Object.hasOwn(document, field) ? document[field] : undefined;
}

/** What a field must satisfy that still has this value, null = nothing: MongoDB would find the value in a list as well. */
export function stillIs(value: Stored | null): Document {
  // Another program has stored what can't be sent: then its kind is all that can be asked for.
  if (!isStorable(value)) return Array.isArray(value) ? LIST : { $type: "object", ...NO_LIST };
  return Array.isArray(value) ? { $eq: value } : { $eq: value, ...NO_LIST };
}

/** Holds for documents whose fields are the same as in this one: then what was judged is what is written. */
export function stillHas(document: StoredRecord, fields: readonly string[]): Document {
  const unchanged = (field: string): Document => {
    const value = valueIn(document, field);
    return value === undefined ? { $exists: false } : stillIs(asStored(value));
  };
  return Object.fromEntries(fields.map((field) => [field, unchanged(field)]));
}
