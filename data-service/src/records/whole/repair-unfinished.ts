// Undoes what dead processes have written only in part, and completes their deletes. Every process does this at its
// start, and for others while it runs.
import { AppError, isConflict } from "@portico/shared/app-error";
import type { Logger } from "@portico/shared/logger";
import { type Catalog, type Table, tableById } from "../../catalog/catalog.js";
import { DELETION_FIELD } from "../../catalog/soft-delete.js";
import type { ChangeStore } from "../../mongo/change-store.js";
import type { InstanceStore } from "../../mongo/instance-store.js";
import { idText } from "../../mongo/record-store.js";
import type { Delete } from "../../mongo/unfinished-store.js";
import { allOf, type Document } from "../../query/lower/document.js";
import { isDead, type Noted, type Onlooker } from "../../schema/dead-instances.js";
import { tablesDeletedFrom } from "../body/write-plan.js";
import { type DeleteStep, OWN_REACH, permanentIn, type Reach } from "../delete/delete-effects.js";
import { stateCondition } from "../delete/kept.js";
import { markedFor, unmark } from "../delete/leaving.js";
import { Deleter } from "../delete/run-delete.js";
import type { RecordDeps } from "../record-deps.js";
import { tablesTakenBackIn } from "./take-back.js";

export type UnfinishedRepairDeps = RecordDeps & {
  readonly instances: Pick<InstanceStore, "lives">;
  readonly changes: Pick<ChangeStore, "keepsTable">;
  readonly logger: Logger;
};

/** No request that links to something takes longer from looking whether it is there to looking again. */
const LATE_MS = 60_000;

/**
 * What concerns a table that is being changed is left for the next time: such a change waits for it as for any write, and
 * it is not to wait for a change that can't be ended.
 */
export async function repairUnfinished(
  deps: UnfinishedRepairDeps,
  { alone }: Pick<Onlooker, "alone">,
): Promise<void> {
  const { unfinished, deletes, instances, clock, logger } = deps;
  const isLeft = (noted: Noted) => isDead({ clock, instances, own: deletes.instance, alone }, noted);
  const isLate = ({ done, at }: Delete): boolean => done && clock.now().getTime() - at.getTime() > LATE_MS;
  await deps.gate.run(async () => {
    const catalog = await deps.catalogs.refresh();
    const isFree = freeTables(catalog);
    const undone = await unfinished.repair(
      async ({ steps, ...note }) =>
        (await isLeft(note)) &&
        !(await areKept(deps, catalog, new Set(steps.map(({ table }) => table)))) &&
        isFree(tablesTakenBackIn(catalog, steps)),
    );
    if (undone > 0) logger.info({ undone }, "took back what interrupted requests had written in half");
  });
  for (const left of await deletes.notes.allDeletes()) {
    if (deletes.underWay.has(left.group)) continue;
    // Of a process that is dead a link may be left that it wrote, and did not look at again.
    if (!isLate(left) && !(await isLeft(left))) continue;
    // As above: the others are not to wait for one that can't be ended now.
    await deps.gate
      .run(() => deletes.underWay.while(left.group, () => endDelete(deps, left)))
      .catch((err: unknown) =>
        logger.error({ err, note: left.id }, "an interrupted delete is not ended yet"),
      );
  }
}

/** Are all of these tables deleted, and may come back? What is left in their records is a matter for then. */
async function areKept(
  { changes }: Pick<UnfinishedRepairDeps, "changes">,
  catalog: Catalog,
  tables: ReadonlySet<string>,
): Promise<boolean> {
  for (const id of tables)
    if (tableById(catalog, id) !== undefined || !(await changes.keepsTable(id))) return false;
  return tables.size > 0;
}

/**
 * Tells whether tables may be written. Once something is put off, so is what comes after it and concerns the same tables:
 * of two requests that changed the same record only the last one can be taken back.
 */
export function freeTables({ changing }: Catalog): (tables: Iterable<Table>) => boolean {
  const held = new Set(changing);
  return (tables) => {
    const ids = [...tables].map(({ id }) => id);
    if (!ids.some((id) => held.has(id))) return true;
    for (const id of ids) held.add(id);
    return false;
  };
}

async function endDelete(deps: UnfinishedRepairDeps, left: Delete): Promise<void> {
  const catalog = await deps.catalogs.refresh();
  const table = tableById(catalog, left.table);
  if (table !== undefined && !freeTables(catalog)(tablesDeletedFrom(catalog, table))) return;
  if (await areKept(deps, catalog, new Set([left.table]))) return;
  const { notes, instance } = deps.deletes;
  if (!(await notes.takeDelete(left, instance, deps.clock.now()))) return;
  if (table !== undefined) {
    // Of one that nobody knows to be allowed, nothing goes that is still there. The others have gone before the first.
    if (left.judged && left.first && !left.done) await removeRest(deps, catalog, table, left);
    if (!left.done) await unmark(deps, { table, ids: left.ids }, left.group);
    const there = await deps.store.existing(table, left.ids);
    const gone = left.ids.filter((id) => !there.has(idText(table, id)));
    // What is not there at all was removed for good, also where the table keeps what it deletes.
    const only = left.permanentIn === undefined ? {} : { permanentIn: table.id };
    const reach = { ...OWN_REACH, permanent: table.deletedAt !== undefined, ...only };
    await new Deleter(deps, catalog, reach).lookAgain({ table, ids: gone });
  }
  await notes.endDelete(left);
}

/** Whatever forbids the delete by now saves the records that are still there. */
async function removeRest(
  deps: UnfinishedRepairDeps,
  catalog: Catalog,
  table: Table,
  left: Delete,
): Promise<void> {
  const condition = stillWanted(table, left);
  const wanted = await deps.store.existing(table, left.ids, [{ $match: condition }]);
  const reach = { ...OWN_REACH, permanent: left.permanent, ...permanentIn(left), ...following(deps, left) };
  const deleter = new Deleter(deps, catalog, reach);
  for (const id of left.ids.filter((each) => wanted.has(idText(table, each)))) {
    try {
      await deleter.takeAway({ table, ids: [id] }, { condition });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

/**
 * What a delete follows was judged when it began, by the rights of its caller: of what has come, or was changed, since then
 * nobody knows whether they may delete it.
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
 * The delete has begun with those that satisfy it, and is not through. A record that was restored satisfies it no more, and
 * one that was made anew with the id of one that went never did.
 */
function stillWanted(table: Table, { group, act = group, permanent }: Delete): Document {
  const begun = { $or: [markedFor(group), { [DELETION_FIELD]: act }] };
  return allOf([begun, stateCondition(table, permanent ? "all" : "living")]);
}
