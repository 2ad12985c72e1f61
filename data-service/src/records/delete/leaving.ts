// The mark on records that are about to be deleted. From the moment that the delete looks for links that would block it, no
// new ones of that kind may be made; and changes wait until the delete is decided.
import type { ObjectId } from "bson";
import { type Catalog, incomingLinks, type Table } from "../../catalog/catalog.js";
import { OWN_FIELDS } from "../../catalog/own-fields.js";
import type { Document } from "../../query/lower/document.js";
import type { RecordDeps } from "../record-deps.js";
import { type DeleteStep, isHolding } from "./delete-effects.js";

/**
 * An object with a member for each delete that wants the record, or not there at all. It is no list, so that a change can
 * require by its own operators that there is none (see updateById).
 */
export const LEAVING_FIELD = OWN_FIELDS.leaving.name;

/** Records that no delete wants. */
export const FREE: Document = { [LEAVING_FIELD]: { $exists: false } };

/** Marks those of the records that are still to go. @param group names the delete */
export async function mark(
  { store }: Pick<RecordDeps, "store">,
  { table, ids, linked }: DeleteStep,
  group: ObjectId,
): Promise<void> {
  await store.updateMany(table, { _id: { $in: [...ids] }, ...linked }, { $set: { [markOf(group)]: true } });
}

/**
 * Marks records while they satisfy the condition. Judging and marking are one write, and changes wait while the mark is
 * there (see `heldBy`): so the records go as they were judged, however long that takes.
 * @returns false when they don't satisfy it
 */
export async function claim(
  { store }: Pick<RecordDeps, "store">,
  { table, ids }: DeleteStep,
  group: ObjectId,
  condition: Document,
): Promise<boolean> {
  const which = { $and: [{ _id: { $in: [...ids] } }, condition] };
  return store.update(table, which, { $set: { [markOf(group)]: true } });
}

/** Takes the marks off: whoever waits for the records may change them, and link to them. */
export async function unmark(
  { store }: Pick<RecordDeps, "store">,
  { table, ids }: DeleteStep,
  group: ObjectId,
): Promise<void> {
  const which = { _id: { $in: [...ids] }, ...markedFor(group) };
  const others = { $unsetField: { field: group.toHexString(), input: `$${LEAVING_FIELD}` } };
  const left = { $cond: [{ $eq: [others, {}] }, "$$REMOVE", others] };
  await store.updateMany(table, which, [{ $set: { [LEAVING_FIELD]: left } }]);
}

/** Records that bear the mark of this delete. Once somebody has taken it off, others may change them, and link to them. */
export function markedFor(group: ObjectId): Document {
  return { [markOf(group)]: true };
}

function markOf(group: ObjectId): string {
  return `${LEAVING_FIELD}.${group.toHexString()}`;
}

/**
 * Do changes of a record wait for a delete that takes it along? Not where nothing links to it: in the moment that it goes,
 * it is asked once more whether it should. Yes for a record whose own link blocks a delete, which relies on it to go along.
 */
export function isHeld(catalog: Catalog, table: Table): boolean {
  return incomingLinks(catalog, table).length > 0 || [...table.relations.values()].some(isHolding);
}

/** The field that keeps a record of this table from being changed; none where a delete takes effect in one write. */
export function heldBy(catalog: Catalog, table: Table): string | undefined {
  return isHeld(catalog, table) ? LEAVING_FIELD : undefined;
}
