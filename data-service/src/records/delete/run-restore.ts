// Brings back what one act has deleted: first the record itself, then what went with it, level by level. A restoration that
// a crash interrupts is completed by sending it again: each record names the act until all that is below it is back.
import type { ObjectId } from "bson";
import { type Catalog, incomingLinks, type Table, targetOf } from "../../catalog/catalog.js";
import { idsOf, idText } from "../../catalog/record-ids.js";
import { DELETED_FIELD, DELETION_FIELD } from "../../catalog/soft-delete.js";
import type { Stored } from "../../catalog/stored.js";
import { linksIn } from "../../query/as-read.js";
import type { State } from "../../query/living.js";
import { allOf, type Document, type StoredRecord } from "../../query/lower/document.js";
import { linksTo } from "../../query/lower/links.js";
import { actingForNobody } from "../acting-for.js";
import { recordNotFound } from "../find-table.js";
import type { ActingDeps, RecordDeps } from "../record-deps.js";
import { requireUntaken } from "../unique-values.js";
import { named, noteFields } from "../whole/note-fields.js";
import type { StepLog } from "../whole/steps.js";
import { unlessTakenAlong } from "../write/still-there.js";
import { isDecided, isWanted, stillLeaving } from "./await-leaving.js";
import { type DeleteStep, stepsOf, takesAlong } from "./delete-effects.js";
import { hasGoneAlong } from "./gone-along.js";
import { actOf, stateCondition } from "./kept.js";
import { FREE, LEAVING_FIELD } from "./leaving.js";
import { letGoOfMissing } from "./missing-links.js";
import { deletedAgain, linkedBy, type Restorer, requireNeeded } from "./needed-records.js";
import { Deleter } from "./run-delete.js";
import { spaceForComing } from "./space-for-going.js";

/**
 * @param condition only while the record satisfies it; `{}` = always
 * @param caller who restores it
 * @returns false when the record is there and does not satisfy the condition, or a delete was about to take it
 * @throws AppError 404, 409, 503 (also where the disk has no space for what comes back with it)
 */
export async function runRestore(
  deps: ActingDeps,
  catalog: Catalog,
  table: Table,
  id: Stored,
  condition: Document,
  caller: Restorer,
): Promise<boolean> {
  const which = allOf([{ _id: id }, condition]);
  const [record] = await deps.store.read(table, [{ $match: which }]);
  if (record === undefined) {
    if ((await deps.store.existing(table, [id])).size === 0) throw recordNotFound(table);
    return false;
  }
  const act = actOf(record);
  const isDeleted = record[DELETED_FIELD] !== undefined;
  const isMarked = record[LEAVING_FIELD] !== undefined;
  if (isWanted(record) && (await hasEnded(deps, table, id))) return false;
  if (act === undefined && !isDeleted) return true;
  const own: Went = { table, ids: [id], leadsOn: false, isMarked };
  const others = act === undefined ? [] : await wentWith(deps, catalog, own, act);
  // After an interrupted restoration a record may still name the act though all that went with it is back.
  const naming = others.filter(({ leadsOn }) => leadsOn || !isDeleted);
  await requireNeeded(deps, catalog, caller, { own, others }, { areBack: false });
  // The record itself is the first to come back, so that it is refused before anything is written.
  for (const { table: of, ids } of others) await requireUntaken(deps, of, ids);
  await deps.requireCaller();
  const bring = async (log: StepLog): Promise<boolean> => {
    // Before anything is back: a delete that begins after that has a claim to all of it.
    await unclaim(deps, own, isDeleted ? "deleted" : "living");
    for (const step of others) await unclaim(deps, step, "deleted");
    if (isDeleted && (await bringBack(deps, own, which, others.length === 0, log)) === 0) return false;
    for (const step of others) {
      const gone = { _id: { $in: [...step.ids] }, ...(act === undefined ? {} : { [DELETION_FIELD]: act }) };
      await bringBack(deps, step, gone, !step.leadsOn, log);
    }
    const settle = async (): Promise<void> => {
      // Somebody may have deleted what is needed, or the record itself, in the meantime.
      await requireNeeded(deps, catalog, caller, { own, others }, { areBack: true });
      for (const step of [own, ...others]) await letGoOfGone(deps, catalog, step);
      await requireFree(deps, own.table, id);
      // Deepest first: whoever sends it again finds what is below a record as long as the record names the act.
      for (const { table: of, ids } of naming.toReversed())
        await deps.store.updateMany(of, backFrom(of, ids, act), { $unset: { [DELETION_FIELD]: "" } });
      await end(deps, own.table, id);
    };
    const hasGone = () => hasGoneSince(deps, catalog, { table, id, record }, [own, ...others]);
    await unlessTakenAlong(deps, own, [], settle, hasGone);
    return true;
  };
  return spaceForComing(deps, others, () => deps.unfinished.orTakeBack(bring));
}

/**
 * Waits for the delete that wants a living record: what it is still to take along would not be found, and could not come back
 * with the record later.
 * @returns false when it takes long elsewhere: a dead process has left it behind, and the restoration goes on where it has stopped
 * @throws AppError 503 when it takes long
 */
async function hasEnded(deps: ActingDeps, table: Table, id: Stored): Promise<boolean> {
  if (await isDecided(deps, table, id)) return true;
  const [now = {}] = await deps.store.byIds(table, [id], { [LEAVING_FIELD]: 1 });
  const groups = Object.keys(Object(now[LEAVING_FIELD]));
  if (groups.some((group) => deps.deletes.underWay.has(group))) throw stillLeaving();
  return false;
}

/**
 * Has the record gone along with what it links to, since it was back? Then what came back with it goes the same way, and all
 * of it will be back with that.
 */
async function hasGoneSince(
  deps: ActingDeps,
  catalog: Catalog,
  { table, id, record }: { readonly table: Table; readonly id: Stored; readonly record: StoredRecord },
  steps: readonly DeleteStep[],
): Promise<boolean> {
  const links = [...table.relations.values()].filter(takesAlong).map((relation) => ({
    relation,
    target: targetOf(catalog, relation),
    ids: linksIn(record[relation.link.field]),
  }));
  const held = links.filter(({ ids }) => ids.length > 0);
  if (!(await hasGoneAlong(deps, table, id, held))) return false;
  const [now = {}] = await deps.store.byIds(table, [id], { [DELETION_FIELD]: 1 });
  const act = actOf(now);
  // Nobody has asked for that.
  const deleter = new Deleter(actingForNobody(deps), catalog);
  for (const step of steps) await deleter.lookAgain(step, act && { id: act, at: deps.clock.now() });
  return true;
}

/** Records of an act that are living again. */
function backFrom(table: Table, ids: readonly Stored[], act: ObjectId | undefined): Document {
  return { _id: { $in: [...ids] }, [DELETION_FIELD]: act ?? null, ...stateCondition(table, "living") };
}

/** Deletes that have marked these are judged again, are through, or were left behind by a dead process. */
async function unclaim({ store }: RecordDeps, { table, ids, isMarked }: Went, state: State): Promise<void> {
  if (!isMarked) return;
  const marked = { _id: { $in: [...ids] }, ...stateCondition(table, state) };
  await store.updateMany(table, marked, { $unset: { [LEAVING_FIELD]: "" } });
}

/**
 * @param isWhole whether nothing else of the act is still to come back after it
 * @returns how many came back: others may have been faster, or changed what the condition asks for
 */
async function bringBack(
  deps: ActingDeps,
  { table, ids }: DeleteStep,
  which: Document,
  isWhole: boolean,
  log: StepLog,
): Promise<number> {
  const marks = [DELETED_FIELD, DELETION_FIELD];
  const own = named(table, { set: { [table.updatedAt.field]: deps.clock.now() }, unset: marks });
  for (const id of ids) await noteFields(deps, table, id, own, log);
  const deleted = { $and: [which, stateCondition(table, "deleted")] };
  const { set } = own.change;
  return deps.writes.updateMany(table, deleted, { set, unset: isWhole ? marks : [DELETED_FIELD] });
}

/**
 * The act is undone in full, and the record forgets it; but not while another delete wants it, which goes on with that act.
 * @throws AppError 409 when the record is deleted again by now, or about to be
 */
async function end({ store }: RecordDeps, table: Table, id: Stored): Promise<void> {
  const free = { _id: id, ...freeIn(table) };
  if (!(await store.update(table, free, { $unset: { [DELETION_FIELD]: "" } }))) throw deletedAgain(table);
}

/** Checks what `end` does, before any record forgets the act. @throws AppError 409 */
async function requireFree({ store }: RecordDeps, table: Table, id: Stored): Promise<void> {
  if ((await store.existing(table, [id], [{ $match: freeIn(table) }])).size === 0) throw deletedAgain(table);
}

/** Records that are there, and that no delete wants. */
function freeIn(table: Table): Document {
  return { ...stateCondition(table, "living"), ...FREE };
}

/** Records that went in one act. */
interface Went extends DeleteStep {
  /** Whether others in turn went with these. */
  leadsOn: boolean;
  /** Whether deletes have marked any of them. */
  readonly isMarked: boolean;
}

/**
 * What an act deleted together with a record, parents before children; where a restoration was interrupted, also what is
 * back already.
 */
async function wentWith(
  deps: ActingDeps,
  catalog: Catalog,
  first: Went,
  act: ObjectId,
): Promise<readonly Went[]> {
  const seen = new Set(first.ids.map((id) => `${first.table.id} ${idText(first.table, id)}`));
  const steps = [first];
  // The list grows while it is walked.
  for (const step of steps) {
    const { table, ids } = step;
    for (const { owner, relation } of incomingLinks(catalog, table)) {
      if (relation.onDelete !== "CASCADE" || owner.deletedAt === undefined) continue;
      const which = { ...linksTo(relation.link, ids), [DELETION_FIELD]: act };
      const found = await deps.store.read(owner, [
        { $match: which },
        { $project: { _id: 1, [LEAVING_FIELD]: 1 } },
      ]);
      const isMarked = found.some((each) => each[LEAVING_FIELD] !== undefined);
      const unseen = idsOf(owner, found).filter((id) => !seen.has(`${owner.id} ${idText(owner, id)}`));
      for (const id of unseen) seen.add(`${owner.id} ${idText(owner, id)}`);
      step.leadsOn ||= unseen.length > 0;
      steps.push(...stepsOf(owner, unseen).map((each) => ({ ...each, leadsOn: false, isMarked })));
    }
  }
  return steps.slice(1);
}

/**
 * A delete for good may have missed these when it looked for what links to its record: as deleted ones it found them no
 * more, and as living ones not yet. One that looks later finds them living.
 */
async function letGoOfGone(deps: ActingDeps, catalog: Catalog, step: DeleteStep): Promise<void> {
  const { table, ids } = step;
  for (const relation of table.relations.values()) {
    if (relation.link.on !== "self") continue;
    const target = targetOf(catalog, relation);
    const links = { table, relation, which: { _id: { $in: [...ids] } } };
    await letGoOfMissing(deps, links, target, await linkedBy(deps, step, relation, target));
  }
}
