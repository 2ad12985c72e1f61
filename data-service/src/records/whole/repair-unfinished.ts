// Takes back what dead processes have written only in part, and completes their deletes. Every process does this when it starts,
// and for others while it runs.
import { AppError, isConflict } from "@portico/shared/app-error";
import { type Catalog, type Table, tableById } from "../../catalog/catalog.js";
import { idText } from "../../catalog/record-ids.js";
import { DELETION_FIELD } from "../../catalog/soft-delete.js";
import type { ChangeStore } from "../../mongo/change-store.js";
import type { InstanceStore } from "../../mongo/instance-store.js";
import type { Delete, Note } from "../../mongo/unfinished-store.js";
import { allOf, type Document } from "../../query/lower/document.js";
import { isDead, type Noted, type Onlooker } from "../../schema/dead-instances.js";
import { actingForNobody } from "../acting-for.js";
import { tablesDeletedFrom } from "../body/write-plan.js";
import { type DeleteStep, inheritedReach, OWN_REACH, type Reach } from "../delete/delete-effects.js";
import { stateCondition } from "../delete/kept.js";
import { markedFor, unmark } from "../delete/leaving.js";
import { Deleter } from "../delete/run-delete.js";
import type { RecordDeps } from "../record-deps.js";
import { areKept, isTableKept } from "./are-kept.js";
import { tablesTakenBackIn } from "./take-back.js";

export type UnfinishedRepairDeps = RecordDeps & {
  readonly instances: Pick<InstanceStore, "lives">;
  readonly changes: Pick<ChangeStore, "keepsTable">;
};

/**
 * What concerns a table that is being changed is left for the next time. The change would wait for this as for any write,
 * and this must not wait for a change that may never end.
 */
export async function repairUnfinished(
  deps: UnfinishedRepairDeps,
  { alone }: Pick<Onlooker, "alone">,
): Promise<void> {
  const { unfinished, deletes, instances, clock, logger } = deps;
  const isLeft = (noted: Noted) => isDead({ clock, instances, own: deletes.instance, alone }, noted);
  const putOff = new Set<string>();
  const isDue = async ({ steps, ...note }: Note): Promise<boolean> => {
    if (!(await isLeft(note))) return false;
    const catalog = await deps.catalogs.refresh();
    if (await areKept(deps, catalog, steps)) return false;
    return freeTables(catalog, putOff)(tablesTakenBackIn(catalog, steps));
  };
  // A change of a table may pass between two of them: each note says by ids and storage fields what it is about, and is read anew.
  const takenBack = await unfinished.repair(isDue, (takeOver) => deps.gate.run(takeOver));
  if (takenBack > 0) logger.info({ takenBack }, "took back what interrupted requests had written in half");
  for (const left of await deletes.notes.openDeletes()) {
    if (deletes.underWay.has(left.group) || !(await isLeft(left))) continue;
    // One that can't be ended now must not keep the others waiting.
    await deps.gate
      .run(() => deletes.underWay.while(left.group, () => endDelete(deps, left)))
      .catch((err: unknown) =>
        logger.error({ err, note: left.id }, "an interrupted delete is not ended yet"),
      );
  }
}

/**
 * Tells whether tables may be written. Once something is put off, everything after it that concerns the same tables is, too:
 * of two requests that changed the same record, only the last one can be taken back.
 * @param putOff the ids of such tables, which become more
 */
export function freeTables(
  { changing }: Catalog,
  putOff = new Set<string>(),
): (tables: Iterable<Table>) => boolean {
  return (tables) => {
    const ids = [...tables].map(({ id }) => id);
    if (!ids.some((id) => changing.has(id) || putOff.has(id))) return true;
    for (const id of ids) putOff.add(id);
    return false;
  };
}

async function endDelete(deps: UnfinishedRepairDeps, left: Delete): Promise<void> {
  const catalog = await deps.catalogs.refresh();
  if (await mustWait(deps, catalog, left.table)) return;
  const { notes, instance } = deps.deletes;
  if (!(await notes.takeDelete(left, instance, deps.clock.now()))) return;
  const table = tableById(catalog, left.table);
  if (table !== undefined) {
    // A delete that is not known to be allowed takes nothing more. One whose first record is gone has taken all others before.
    if (left.judged && left.first) await removeRest(deps, catalog, table, left);
    await unmark(deps, { table, ids: left.ids }, left.group);
  }
  await lookAgain(deps, catalog, [left]);
}

/** Is the table being changed, or one that a delete there may write to, or is it deleted and may come back? */
export async function mustWait(deps: UnfinishedRepairDeps, catalog: Catalog, id: string): Promise<boolean> {
  const table = tableById(catalog, id);
  if (table !== undefined && !freeTables(catalog)(tablesDeletedFrom(catalog, table))) return true;
  return isTableKept(deps, catalog, id);
}

/** Ends links that were made to records while these went, and forgets their notes. @param left of one kind (see deleteKind) */
export async function lookAgain(
  deps: UnfinishedRepairDeps,
  catalog: Catalog,
  left: readonly Delete[],
): Promise<void> {
  const [first] = left;
  const table = first && tableById(catalog, first.table);
  if (table !== undefined) {
    const ids = left.flatMap((each) => each.ids);
    const there = await deps.store.existing(table, ids);
    const gone = ids.filter((id) => !there.has(idText(table, id)));
    // What does not exist was removed for good, even if its table keeps what is deleted.
    const only = first?.permanentIn === undefined ? {} : { permanentIn: table.id };
    const reach = { ...OWN_REACH, permanent: table.deletedAt !== undefined, ...only };
    await new Deleter(actingForNobody(deps), catalog, reach).lookAgain({ table, ids: gone });
  }
  await deps.deletes.notes.endDeletes(left);
}

/** Notes of one kind are worked off by one look. */
export function deleteKind({ table, permanentIn: only }: Delete): string {
  return `${table} ${only !== undefined}`;
}

/** If anything forbids the delete by now, the records that are still there stay. */
async function removeRest(
  deps: UnfinishedRepairDeps,
  catalog: Catalog,
  table: Table,
  left: Delete,
): Promise<void> {
  const condition = stillWanted(table, left);
  const wanted = await deps.store.existing(table, left.ids, [{ $match: condition }]);
  const asBegun = {
    permanent: left.permanent,
    ...inheritedReach(left),
    // Only what is taken back is deleted so.
    sparesOthers: left.permanentIn !== undefined,
  };
  const reach = { ...OWN_REACH, ...asBegun, ...following(deps, left) };
  const deleter = new Deleter(actingForNobody(deps), catalog, reach);
  for (const id of left.ids.filter((each) => wanted.has(idText(table, each)))) {
    try {
      await deleter.takeAway({ table, ids: [id] }, { condition });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

/**
 * What a delete follows was judged by the rights of its caller when it began: of records that were made or changed since,
 * nobody knows whether the caller may delete them.
 */
function following(
  { store }: UnfinishedRepairDeps,
  { follows }: Delete,
): Pick<Reach, "follows" | "mayTake" | "since"> {
  if (follows === undefined) return {};
  const { relations, since } = follows;
  const mayTake = async ({ table, ids }: DeleteStep): Promise<void> => {
    const late = { $match: { [table.updatedAt.field]: { $gte: since } } };
    if ((await store.existing(table, ids, [late])).size > 0)
      throw new AppError("CONFLICT", `Records of "${table.name}" were changed since the delete began.`);
  };
  return { follows: (_owner, { id }) => relations.includes(id), mayTake, since };
}

/**
 * Satisfied by records that the delete has begun with and not yet removed. A record that was restored since no longer
 * satisfies it, and one that was made anew under the id of one that went never did.
 */
function stillWanted(table: Table, { group, act = group, permanent }: Delete): Document {
  const begun = { $or: [markedFor(group), { [DELETION_FIELD]: act }] };
  return allOf([begun, stateCondition(table, permanent ? "all" : "living")]);
}
