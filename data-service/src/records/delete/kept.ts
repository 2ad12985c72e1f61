// Marks records as deleted in tables that keep them, and says by which act they were deleted.
import { ObjectId } from "bson";
import type { Table } from "../../catalog/catalog.js";
import { DELETED_FIELD, DELETION_FIELD } from "../../catalog/soft-delete.js";
import type { Stored } from "../../catalog/stored.js";
import type { State } from "../../query/living.js";
import { allOf, type Document } from "../../query/lower/document.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";

/** What one request deletes, and when. */
export interface DeletionAct {
  readonly id: ObjectId;
  readonly at: Date;
}

/** Documents in one state. `{}` = all. */
export function stateCondition({ deletedAt }: Table, state: State): Document {
  if (state === "all" || deletedAt === undefined) return {};
  return { [DELETED_FIELD]: state === "living" ? { $eq: null } : { $ne: null } };
}

/** Marks records as deleted; those that are deleted already stay as they are. @returns how many were marked */
export function markDeleted(
  { writes }: Pick<ActingDeps, "writes">,
  table: Table,
  ids: readonly Stored[],
  { id, at }: DeletionAct,
  condition: Document = {},
): Promise<number> {
  const set = { [DELETED_FIELD]: at, [DELETION_FIELD]: id, [table.updatedAt.field]: at };
  const which = allOf([{ _id: { $in: [...ids] } }, stateCondition(table, "living"), condition]);
  return writes.updateMany(table, which, { set, unset: [], moves: 1 });
}

/**
 * Notes in a living record which act deletes it and others, before anything goes: whoever sends the delete again after a
 * crash continues the same act, so that all that went in it comes back together. This is no change of the record, so its
 * history does not show it.
 * @param fresh the act, unless the record names one already
 * @returns the act; undefined when the record does not satisfy the condition
 */
export async function beginAct(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  id: Stored,
  condition: Document,
  fresh: DeletionAct,
): Promise<DeletionAct | undefined> {
  const which = allOf([{ _id: id }, stateCondition(table, "living"), condition]);
  const begun = { $ifNull: [`$${DELETION_FIELD}`, fresh.id] };
  const record = await store.updateAndGet(table, which, [{ $set: { [DELETION_FIELD]: begun } }]);
  return record && { id: actOf(record) ?? fresh.id, at: fresh.at };
}

/**
 * The act of a deleted record that root moves here, as a field. A file says when it went, but not with which others: those
 * of the same moment count as one act. It can't be one of ours: no `ObjectId` made here begins with such an early time.
 */
export function actOfMoved(fields: Document): Document {
  const at = fields[DELETED_FIELD];
  if (!(at instanceof Date)) return {};
  const id = Buffer.alloc(12);
  id.writeBigInt64BE(BigInt(at.getTime()));
  return { [DELETION_FIELD]: new ObjectId(id) };
}

/** The act that a record names. */
export function actOf(record: Readonly<Record<string, unknown>>): ObjectId | undefined {
  const act = record[DELETION_FIELD];
  return act === undefined || act === null ? undefined : new ObjectId(String(act));
}
