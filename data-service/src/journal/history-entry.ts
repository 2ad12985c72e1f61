// What is kept of a change permanently: the fields that differ, before and after. Pure.
import { sameValue } from "../catalog/restore-value.js";
import type { Document } from "../query/lower/document.js";
import type { Entry } from "./entry.js";

/** A change as the history keeps it; `before` and `after` have only the changed fields. */
export type HistoryEntry = Entry;

/** Leaves out what the change did not change. */
export function changedFields(entry: Entry): HistoryEntry {
  const { before = {}, after = {}, ...rest } = entry;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter(
    // The id is in the entry itself.
    (name) => name !== "_id" && !sameValue(before[name], after[name]),
  );
  return {
    ...rest,
    ...(entry.kind === "created" ? {} : { before: only(before, changed) }),
    ...(entry.kind === "deleted" ? {} : { after: only(after, changed) }),
  };
}

function only(image: Document, names: readonly string[]): Document {
  return Object.fromEntries(Object.entries(image).filter(([name]) => names.includes(name)));
}
