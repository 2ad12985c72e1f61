// Ends a change: tidies up after one that is in use, gives up one that is not; for its own changes and those of dead
// processes.
import type { Relation, Table } from "../catalog/catalog.js";
import { fieldsOfHistory, type Transition } from "../catalog/changed-fields.js";
import type { TableDefinition } from "../catalog/definition.js";
import { markedFills, newlyEncrypted, notesOf } from "../catalog/fills.js";
import { gramField } from "../catalog/grams.js";
import { isBuilt } from "../catalog/index-names.js";
import type { Holder } from "../mongo/change-lock.js";
import type { TableChange } from "../mongo/change-store.js";
import type { Report, RequireLock } from "../mongo/table-writes.js";
import type { ChangeDeps } from "./change-deps.js";
import { formerGrams, newlyDerived } from "./newly-derived.js";
import {
  builtTables,
  type ChangePlan,
  definitionChange,
  indexChanges,
  numbersKept,
  numbersLeft,
} from "./plan-change.js";
import { ownTransition } from "./stored-change.js";

/** The changed table before and after, with all others. */
type Built = Pick<ChangePlan, "before" | "after" | "catalogs">;

const INTERRUPTED = "it was interrupted and has been taken back";

/** The change is in use: everybody follows, then whatever only the former definition needed is removed. */
export async function finish(
  deps: ChangeDeps,
  change: TableChange,
  { holder, version }: { readonly holder: Holder; readonly version: number },
  plan: Built,
  report: Report = async () => {},
): Promise<void> {
  const requireLock = () => deps.changeLock.requireHeld(holder);
  // Before the rules: then nobody is left who writes a rule with the former names.
  await deps.presence.everyone(version);
  if (!(await deps.changeLock.isFollowed(holder))) {
    await deps.rules.follow(change.id, requireLock);
    await deps.changeLock.followed(holder);
  }
  await deps.changes.finish(change);
  for (const { parents, index } of numbersLeft(plan))
    await deps.data.dropIndexes(parents, [index], requireLock);
  const { before, after } = plan;
  if (after === undefined) return;
  if (before !== undefined) await deps.data.dropIndexes(after, indexChanges(plan).drop, requireLock);
  // By now nobody writes them, and a search takes records without them for candidates.
  await deps.data.unset(after.collection, formerGrams(before, after), requireLock);
  const own = ownTransition(change);
  if (own !== undefined) {
    await tidyValues(deps, own, requireLock);
    // Nobody writes the former fields any more.
    await deps.journalStore.moveValues(own.after.id, fieldsOfHistory(own), requireLock);
  }
  if (change.undoes !== null) await unlinkLost(deps, change, plan, requireLock);
  const derived = newlyDerived(before, after);
  if (derived === undefined) return;
  await requireLock();
  await deps.backfillDerived(derived, report);
}

/** Removes from the records the change's own notes and the plain values of newly encrypted columns. */
async function tidyValues(
  { data, changes, journalStore, unfinishedNotes }: ChangeDeps,
  own: Transition,
  requireLock: RequireLock,
): Promise<void> {
  const { id, storage } = own.after;
  const marks = markedFills(own).map(({ mark }) => mark);
  // What a field held is of no use once the field is read again.
  const notes = notesOf({ before: own.after, after: own.before });
  await data.unset(storage.collection, [...marks, ...notes], requireLock);
  const lists = await Promise.all(newlyEncrypted(own).map((member) => changes.formerFields(id, member)));
  const used = new Set(Object.values(storage.fields));
  const plain = lists.flat().filter((field) => !used.has(field));
  // In adopted documents the plain text is the others' value.
  if (storage.adopted !== true) await data.unset(storage.collection, plain, requireLock);
  await journalStore.forgetValues(id, plain, requireLock);
  // They hold what was derived from it as well.
  const derived = plain.map((field) => gramField({ field }));
  await unfinishedNotes.forgetValues(id, [...plain, ...derived]);
}

/** Links that came back may lead to records that were deleted meanwhile. In adopted documents they stay as they are. */
async function unlinkLost(
  deps: ChangeDeps,
  change: TableChange,
  { before, after }: Pick<ChangePlan, "before" | "after">,
  requireLock: RequireLock,
): Promise<void> {
  const isAdopted = change.after.some(({ id, storage }) => id === after?.id && storage.adopted === true);
  if (after === undefined || isAdopted) return;
  const catalog = await deps.catalogs.refresh();
  for (const { link, target } of relationsBack(before, after)) {
    const collection = catalog.tables.get(target)?.collection;
    if (collection !== undefined) await deps.data.unlinkLost(after, link, collection, requireLock);
  }
}

/** Relations whose links were in a field that was not in use. */
function relationsBack(before: Table | undefined, after: Table): Relation[] {
  const own = (table: Table | undefined): Relation[] =>
    [...(table?.relations.values() ?? [])].filter(({ link }) => link.on === "self");
  const known = new Set(own(before).map(({ id, link }) => `${id} ${link.field}`));
  return own(after).filter(({ id, link }) => !known.has(`${id} ${link.field}`));
}

/** What became of a change; a change that had hardly begun is unknown. */
interface Ended {
  readonly change: TableChange | undefined;
  /** It is in use. */
  readonly done: boolean;
}

/**
 * Ends a change whose maker is gone or has failed: it is given up if it was not in use yet, and tidied up if it was.
 * @param holder who holds the lock now: this instance
 * @returns undefined when another instance ends it
 */
export async function endInterrupted(deps: ChangeDeps, holder: Holder): Promise<Ended | undefined> {
  const ended = await endHeld(deps, holder);
  if (ended !== undefined) await deps.changeLock.release(holder);
  return ended;
}

/** The same, with the lock still on. */
async function endHeld(deps: ChangeDeps, holder: Holder): Promise<Ended | undefined> {
  const lock = await deps.changeLock.holder();
  if (lock?.change !== holder.change || lock.instance !== holder.instance) return undefined;
  try {
    const change = await deps.changes.find(holder.change);
    const plan = change && (await tablesOf(deps, change));
    if (change !== undefined && plan !== undefined && lock.published)
      await finishAgain(deps, change, holder, plan);
    else {
      if (change !== undefined && plan !== undefined) await giveUp(deps, change, { holder, plan });
      // It may have been announced without any further report.
      const end = { finishedAt: deps.clock.now(), problem: INTERRUPTED };
      await deps.catalogStore.reportLost(holder.change, end);
    }
    return { change, done: lock.published };
  } catch (error) {
    if (await deps.changeLock.isHeld(holder)) throw error;
    return undefined;
  }
}

async function finishAgain(
  deps: ChangeDeps,
  change: TableChange,
  holder: Holder,
  plan: Built,
): Promise<void> {
  const { version } = await deps.catalogs.refresh();
  await finish(deps, change, { holder, version }, plan);
  await reportEnd(deps, change, "done");
}

async function tablesOf(deps: ChangeDeps, { table, before, after }: TableChange): Promise<Built> {
  const ids = [...new Set([...before, ...after].map((each) => each.id))];
  const find = (list: readonly TableDefinition[], id: string) => list.find((each) => each.id === id);
  const changed = ids.flatMap((id) => definitionChange(find(before, id), find(after, id)) ?? []);
  return builtTables(deps, await deps.catalogStore.load(), table, changed);
}

/**
 * Fields that the new definition is the first to use: nobody ever saw what is there. In adopted documents that is true only
 * of fields into which values are converted; those of new members may have existed long before.
 */
export function freshFields({ before, after }: Transition): string[] {
  const former = new Set([...Object.values(before.storage.fields), ...(before.storage.retired ?? [])]);
  const mayBeForeign = (member: string): boolean =>
    after.storage.adopted === true && before.storage.fields[member] === undefined;
  return Object.entries(after.storage.fields)
    .filter(([member, field]) => !former.has(field) && !mayBeForeign(member))
    .map(([, field]) => field);
}

/** Removes what the change has written into fields that only the new definition reads. */
export async function emptyFields(
  { data }: Pick<ChangeDeps, "data">,
  own: Transition,
  requireLock: RequireLock,
): Promise<void> {
  const { collection } = own.after.storage;
  await data.unset(collection, [...freshFields(own), ...notesOf(own)], requireLock);
  for (const each of markedFills(own)) await data.takeBack(collection, each, requireLock);
}

/** Takes back what nobody has seen: indexes and values of the new definition. */
async function giveUp(
  deps: ChangeDeps,
  change: TableChange,
  { holder, plan }: { readonly holder: Holder; readonly plan: Built },
): Promise<void> {
  const { before, after } = plan;
  const requireLock = () => deps.changeLock.requireHeld(holder);
  const isOurs = (name: string): boolean => isBuilt(name, change.id);
  for (const { parents, index } of numbersKept(plan))
    await deps.data.dropIndexes(parents, [index], requireLock, isOurs);
  const own = ownTransition(change);
  if (before !== undefined && after !== undefined && own !== undefined) {
    const { build, drop } = indexChanges(plan);
    await deps.data.dropIndexes(before, build, requireLock);
    // Earlier versions dropped some of them before the change was in use.
    await deps.data.build(before, drop, { change: change.id, former: build });
    await emptyFields(deps, own, requireLock);
  }
  await deps.changes.forget(change.id);
}

async function reportEnd(
  { catalogStore, clock }: ChangeDeps,
  change: TableChange,
  state: "done" | "failed",
): Promise<void> {
  await catalogStore.report(change.table, {
    id: change.id,
    state,
    done: 0,
    total: 0,
    startedAt: change.at,
    finishedAt: clock.now(),
    problem: state === "done" ? null : INTERRUPTED,
  });
}

/** Ends what an instance that is gone has left. @returns whether there is nothing left to wait for */
async function recoverChanges(deps: ChangeDeps): Promise<boolean> {
  const lock = await deps.changeLock.holder();
  if (lock === undefined) return true;
  const { change, instance } = lock;
  const isOurs = instance === deps.presence.id;
  if (isOurs ? deps.changesUnderWay.has(change) : await deps.instances.lives(instance)) return false;
  if (!isOurs && !(await deps.changeLock.takeOver({ change, instance }, deps.presence.id))) return false;
  deps.logger.warn({ change, instance }, "ending an interrupted change of a table");
  await deps.changesUnderWay.while(change, async () => {
    const holder = { change, instance: deps.presence.id };
    const ended = await endHeld(deps, holder);
    // While nobody else can change the table, so that no later change's report is overwritten.
    if (ended?.change !== undefined && !ended.done) await reportEnd(deps, ended.change, "failed");
    if (ended !== undefined) await deps.changeLock.release(holder);
  });
  return true;
}

/** How long to wait after a failure before trying again. */
const RETRY_MS = 5_000;

/**
 * The same for a start and for every beat: a failure is logged and tried again later, and does not keep anybody from serving
 * what is not affected.
 * @returns whether there is nothing left to wait for
 */
export function makeRecovery(deps: ChangeDeps): () => Promise<boolean> {
  let failedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - failedAt < RETRY_MS) return true;
    try {
      return await recoverChanges(deps);
    } catch (error) {
      failedAt = performance.now();
      deps.logger.error({ err: error }, "ending an interrupted change of a table failed; it is tried again");
      return true;
    }
  };
}
