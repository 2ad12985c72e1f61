// What was read from the database goes back into it: as a value, and as the condition that it is still there.
import type { Stored } from "../catalog/column-types.js";
import type { Document } from "./lower/document.js";
import type { StoredRecord } from "./shape.js";

/** The one place that believes so: ids, links and other values of a document that was read, neither absent nor null. */
export function asStored(value: unknown): Stored {
  return value as Stored;
}

/** Holds for documents whose fields are what they are in this one: what was judged and what is written are one then. */
export function stillHas(document: StoredRecord, fields: readonly string[]): Document {
  const unchanged = (field: string): Document => {
    const value = document[field];
    return value === undefined ? { $exists: false } : { $eq: asStored(value) };
  };
  return Object.fromEntries(fields.map((field) => [field, unchanged(field)]));
}
