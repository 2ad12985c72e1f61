// What was read from the database goes back into it: as a value, and as the condition that it is still the same.
import type { Stored } from "../catalog/column-types.js";
import type { Document } from "./lower/document.js";
import type { StoredRecord } from "./shape.js";

/**
 * The only place that assumes this: ids, links and other values of a document that was read are neither absent nor null.
 */
export function asStored(value: unknown): Stored {
  return value as Stored;
}

/** Holds for documents whose fields are the same as in this one: then what was judged is what is written. */
export function stillHas(document: StoredRecord, fields: readonly string[]): Document {
  const unchanged = (field: string): Document => {
    const value = document[field];
    return value === undefined ? { $exists: false } : { $eq: asStored(value) };
  };
  return Object.fromEntries(fields.map((field) => [field, unchanged(field)]));
}
