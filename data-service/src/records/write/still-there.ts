// What a write has linked, looked at once more when it is written: is it still there, or has a delete taken it along?
import { isClientError } from "@portico/shared/app-error";
import { owningRelation, type Table } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import type { LinkSet } from "../body/link-set.js";
import { linkable } from "../delete/await-leaving.js";
import { isWaiting } from "../delete/delete-effects.js";
import { stateCondition } from "../delete/kept.js";
import type { RecordDeps } from "../record-deps.js";
import type { MovedRecords } from "./link-foreign.js";

/**
 * Records may have been deleted while others were made to link to them: are all still there?
 * @param sets the links that were made
 * @throws AppError 503 when it takes long until a delete that wants one of them is decided
 */
export async function areStillThere(
  deps: Pick<RecordDeps, "store">,
  table: Table,
  ids: readonly Stored[],
  sets: readonly LinkSet[],
): Promise<boolean> {
  const waits = sets.some((linkSet) => isWaiting(owningRelation(linkSet)));
  const living = [{ $match: stateCondition(table, "living") }];
  return (await linkable(deps, table, ids, { waits, visible: living })).size === ids.length;
}

/**
 * Looks once more at what was written. Records that were moved to another one, and have gone along with it, were moved before
 * its delete, and can't be brought back: then all of it counts as done, and as deleted since.
 * @param of the records of the request, in one table
 * @param moved what `linkForeign` has returned
 * @param look throws the refusal
 * @param haveGoneAlong whether those of the request have gone along with something that they link to themselves
 */
export async function unlessTakenAlong(
  { store }: Pick<RecordDeps, "store">,
  of: MovedRecords,
  moved: readonly MovedRecords[],
  look: () => Promise<void>,
  haveGoneAlong: () => Promise<boolean> = async () => false,
): Promise<void> {
  // What goes along goes first: so a delete that is under way is waited for.
  const areGone = async ({ table, ids }: MovedRecords, { waits }: { waits: boolean }): Promise<boolean> => {
    const living = [{ $match: stateCondition(table, "living") }];
    return (await linkable({ store }, table, ids, { waits, visible: living })).size === 0;
  };
  await look().catch(async (error: unknown) => {
    if (!isClientError(error) || !(await areGone(of, { waits: true }))) throw error;
    if (moved.length === 0 && !(await haveGoneAlong())) throw error;
    for (const each of moved) if (!(await areGone(each, { waits: false }))) throw error;
  });
}
