// Makes a planned change of a table, exactly once and as a whole: see docs/decisions/011-changing-tables.md.
// lock → quiet → ask → note → fill → index → publish → everybody follows → tidy up → unlock
import { AppError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { memberIn, type Table } from "../catalog/catalog.js";
import { removesMember, spreadsRecords, switchesWrites } from "../catalog/changes.js";
import type { TableDefinition } from "../catalog/definition.js";
import { isBuilt } from "../catalog/index-names.js";
import type { IndexSpec } from "../catalog/indexes.js";
import { idText } from "../catalog/record-ids.js";
import { type Holder, lockLost } from "../mongo/change-lock.js";
import type { TableChange } from "../mongo/change-store.js";
import { until } from "../until.js";
import { within } from "../within.js";
import { type Cost, destructive, fill, requireAllowed } from "./ask-data.js";
import { costsOf, costsWithLateRules } from "./ask-rules.js";
import { awaitUnfinished } from "./await-unfinished.js";
import type { ChangeDeps } from "./change-deps.js";
import { announced, type Progress, progressOf, refusalOf, reportBegun } from "./change-progress.js";
import { emptyFields, endInterrupted, finish } from "./end-change.js";
import { newlyDerived } from "./newly-derived.js";
import { type ChangePlan, changedDefinitions, indexChanges, numbersKept } from "./plan-change.js";
import { withoutUnmetNeeds } from "./unmet-needs.js";

/** Plans the change by the present definitions; called again once nobody else can change them. */
export type Planner = (definitions: readonly TableDefinition[]) => ChangePlan | Promise<ChangePlan>;

/** How long a change waits for another one, and for what requests have left, unless something else is said. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 50;
/** How long it waits for writes in progress. */
const QUIET_MS = 10_000;
/** How long then for their notes, which go a moment later. */
const JUST_ENDED_MS = 1_000;
/** Checking the records of a large table takes minutes; after this long it continues under the lock, visible to all. */
const LONG_ASKING_MS = 2_000;

/** A change that is running, or whose checks take long enough to be announced. */
export interface Started {
  /** Its id, by which it is found in the log and in the database. */
  readonly change: string;
  /** Resolves when the change is in use on every instance; rejects if the records stood against it after all. */
  readonly done: Promise<void>;
}

/**
 * Begins a change; resolves once it is accepted. A refusal is always reported: by the answer or, if checking the records
 * takes long, by `done` and the table's own record.
 * @param confirmed the hash that the client was shown, or undefined
 * @param patienceMs how long it waits for another change to end, and for what interrupted requests have left in the table
 * @throws AppError 409 DESTRUCTIVE_CHANGE, 409 CONFLICT where that takes longer; nothing is changed then
 */
export function startChange(
  deps: ChangeDeps,
  planner: Planner,
  confirmed: string | undefined,
  patienceMs = PATIENCE_MS,
): Promise<Started> {
  const change = new ObjectId().toHexString();
  return new Promise((resolve, reject) => {
    const accepted = (): void => resolve({ change, done });
    const done = runChange(deps, planner, { change, confirmed, patienceMs, accepted });
    done.then(accepted, reject);
  });
}

/** How a change is made. */
interface Order {
  readonly change: string;
  readonly confirmed: string | undefined;
  readonly patienceMs: number;
  /** Called once only the stored values can still stop the change, or when checking them takes long. */
  readonly accepted: () => void;
}

/** An order whose first check is running or done. */
interface Asked extends Order {
  readonly began: number;
  /** Rejects with the refusal. */
  readonly allowed: Promise<void>;
}

async function runChange(deps: ChangeDeps, planner: Planner, order: Order): Promise<void> {
  const first = await planner(await deps.catalogStore.load());
  if (first.steps.length === 0) return;
  const began = performance.now();
  const allowed = costsOf(deps, first).then((costs) => requireAllowed(first, costs, order.confirmed));
  // Before anybody is held up: most refusals come from here.
  await within(LONG_ASKING_MS, allowed);
  const holder = { change: order.change, instance: deps.presence.id };
  const deadline = performance.now() + order.patienceMs;
  if (movesValues(first)) await awaitUnfinished(deps, first.table, order.patienceMs);
  await deps.changesUnderWay.while(holder.change, async () => {
    await takeLock(deps, holder, Math.max(0, deadline - performance.now()));
    await whileLocked(deps, holder, planner, { ...order, began, allowed });
  });
}

async function takeLock({ changeLock }: ChangeDeps, holder: Holder, patienceMs: number): Promise<void> {
  const tooLate = () => {
    throw new AppError("CONFLICT", "Another change of a table is being made; try again when it is done.");
  };
  await until(() => changeLock.take(holder), { patienceMs, everyMs: LOOK_MS, tooLate });
}

async function whileLocked(deps: ChangeDeps, holder: Holder, planner: Planner, order: Asked): Promise<void> {
  try {
    // It may have waited for another change, or asked many records.
    await deps.requireCaller();
    const plan = await planner(await deps.catalogStore.load());
    if (plan.undoes !== undefined) await requireNotUndone(deps, plan.undoes);
    if (plan.steps.length > 0) await make(deps, holder, plan, order);
    await deps.changeLock.release(holder);
  } catch (error) {
    // If this fails too, the lock stays, and the next beat of any instance ends what is left.
    const ended = await endInterrupted(deps, holder);
    if (ended?.done !== true) throw error;
    // It is in use, so whoever asked for it must not be told otherwise.
    deps.logger.warn({ err: error, change: holder.change }, "a change of a table has been tidied up again");
  }
}

/** Two undos at once must not both undo the same change. */
async function requireNotUndone({ changes }: ChangeDeps, { id, table, at }: TableChange): Promise<void> {
  const last = await changes.lastUndoable(table, new Date(at.getTime() - 1));
  if (last?.id !== id)
    throw new AppError("CONFLICT", "Another request has changed or brought back the same table.");
}

async function make(deps: ChangeDeps, holder: Holder, plan: ChangePlan, order: Asked): Promise<void> {
  const patienceMs = order.began + LONG_ASKING_MS - performance.now();
  const asking = { holder, plan, patienceMs, accepted: order.accepted };
  const { costs, met } = await announced(deps, asking, async () => {
    await order.allowed;
    const costs = await askInQuiet(deps, holder, plan, order);
    return { costs, met: withBuilding(await withoutUnmetNeeds(deps, plan)) };
  });
  const targets = targetsOf(met, await deps.catalogStore.load());
  const { version: made } = await deps.catalogs.refresh();
  const change = { ...changeOf(holder, deps.clock.now(), met, costs.length > 0), targets, version: made };
  await deps.changes.begin(change);
  await reportBegun(deps, plan, change);
  order.accepted();
  const progress = await progressOf(deps, holder, plan, change);
  try {
    await prepare(deps, change.id, plan, progress);
    await requireNoLateRules(deps, plan, costs, order.confirmed);
  } catch (error) {
    if (!(await deps.changeLock.isHeld(holder))) throw await afterLoss(deps, change, plan);
    await progress.end("failed", refusalOf(error));
    throw error;
  }
  const version = await deps.changeLock.publish(holder);
  try {
    await finish(deps, change, { holder, version }, plan, progress.add);
  } catch (error) {
    if (await deps.changeLock.isHeld(holder)) throw error;
    // It is in use, so nobody can refuse it any more.
    await endedByAnother(deps, holder, version);
  }
  await progress.end("done", null);
}

/**
 * While values are being written, rules can still be written with the former names, and nobody has confirmed that those are
 * switched off. Checked as late as possible, because they can be written until the change is in use.
 * @throws AppError 409 with what confirms them, too
 */
async function requireNoLateRules(
  deps: ChangeDeps,
  plan: ChangePlan,
  costs: readonly Cost[],
  confirmed: string | undefined,
): Promise<void> {
  const now = await costsWithLateRules(deps, plan, costs);
  if (now !== undefined) requireAllowed(plan, now, confirmed);
}

/** Waits until the instance that has taken over a change in use has tidied up, or whichever takes over from that one. */
async function endedByAnother(
  { changeLock, presence }: ChangeDeps,
  { change }: Holder,
  version: number,
): Promise<void> {
  const isEnded = async () => (await changeLock.holder())?.change !== change;
  await until(isEnded, { patienceMs: Number.POSITIVE_INFINITY, everyMs: LOOK_MS, tooLate: () => {} });
  await presence.everyone(version);
}

/**
 * Indexes that were on their way to the database when another instance took the change back may have arrived after that.
 */
async function afterLoss({ data }: ChangeDeps, { id }: TableChange, plan: ChangePlan): Promise<AppError> {
  const { before, after } = plan;
  const isOurs = (name: string): boolean => isBuilt(name, id);
  for (const { parents, index } of numbersKept(plan))
    await data.dropIndexes(parents, [index], async () => {}, isOurs);
  if (before !== undefined && after !== undefined)
    await data.dropIndexes(after, indexChanges(plan).build, async () => {}, isOurs);
  return lockLost();
}

/** Once more, by the present definition and, where it matters, while nobody writes. @throws AppError 409, 422 */
async function askInQuiet(deps: ChangeDeps, holder: Holder, plan: ChangePlan, order: Order): Promise<Cost[]> {
  if (needsQuiet(plan))
    await deps.presence.everyone(await deps.changeLock.freeze(holder, plan.table), QUIET_MS);
  // A process may have died since the first look, and by now nobody begins anything there.
  if (movesValues(plan)) await awaitUnfinished(deps, plan.table, JUST_ENDED_MS);
  const costs = await costsOf(deps, plan);
  requireAllowed(plan, costs, order.confirmed);
  return costs;
}

function needsQuiet({ fills, undoes, steps }: ChangePlan): boolean {
  return (
    fills.length > 0 ||
    undoes !== undefined ||
    steps.some((each) => each.risks.length > 0 || switchesWrites(each))
  );
}

/** What is left in a table that is deleted, or that comes back, is seen to when it is there. */
function movesValues(plan: ChangePlan): boolean {
  return needsQuiet(plan) && plan.before !== undefined && plan.after !== undefined;
}

/** Numbers of children that will now be kept must not be used before all children are counted. */
function withBuilding(plan: ChangePlan): ChangePlan {
  const { own } = plan;
  const counted = plan.after && newlyDerived(plan.before, plan.after)?.counted.map(({ id }) => id);
  if (own.to === undefined || counted === undefined || counted.length === 0) return plan;
  const building = [...new Set([...(own.to.storage.building ?? []), ...counted])];
  const to = { ...own.to, storage: { ...own.to.storage, building } };
  return { ...plan, own: { ...own, to } };
}

function changeOf({ change }: Holder, at: Date, plan: ChangePlan, hasCosts: boolean): TableChange {
  const { own, table, undoes, steps } = plan;
  const definitions = changedDefinitions(plan);
  const removed = own.to === undefined ? [own.from.id] : [];
  return {
    id: change,
    table,
    removed,
    at,
    before: definitions.flatMap(({ from }) => from ?? []),
    after: definitions.flatMap(({ to }) => to ?? []),
    undoable: undoes === undefined && (hasCosts || removed.length > 0 || steps.some(removesMember)),
    undoes: undoes?.id ?? null,
    isNoted: true,
  };
}

/** By the time of an undo a name may belong to another table. */
function targetsOf(plan: ChangePlan, stored: readonly TableDefinition[]): Record<string, string> {
  const changed = changedDefinitions(plan).flatMap(({ from, to }) => [from ?? [], to ?? []].flat());
  const ids = new Map([...stored, ...changed].map(({ name, id }) => [name, id]));
  const names = changed.flatMap(({ relations }) => relations.map(({ table }) => table));
  return Object.fromEntries(
    names.flatMap((name) => {
      const id = ids.get(name);
      return id === undefined ? [] : [[name, id]];
    }),
  );
}

/** Everything that can be prepared before anybody knows of it. @throws AppError 409 for values that are not unique */
async function prepare(
  deps: ChangeDeps,
  change: string,
  plan: ChangePlan,
  progress: Progress,
): Promise<void> {
  const { after, own } = plan;
  if (after === undefined) return;
  // We may have been suspended for so long that these fields are in use by now.
  await progress.requireLock();
  // An instance that was considered dead may have left something there.
  if (own.from !== undefined && own.to !== undefined)
    await emptyFields(deps, { before: own.from, after: own.to }, progress.requireLock);
  for (const each of plan.fills) await fill(deps, plan, after, each, progress.add).catch(refuseShared);
  const { build, drop: former } = indexChanges(plan);
  // That includes such indexes, which it may still drop. Those of a table that comes back are its own.
  if (plan.before !== undefined) await deps.data.dropIndexes(after, build, progress.requireLock, isBuilt);
  await progress.requireLock();
  for (const spec of build) {
    if (!(await deps.data.build(after, [spec], { change, former })))
      throw await notUnique(deps, plan, after, spec);
    await progress.add(1);
  }
  await indexNumbers(deps, change, plan, progress);
  if (plan.steps.some(spreadsRecords)) await deps.data.shard(after);
}

/** In the tables whose number of children will now be kept: nothing that may be refused is left for later. */
async function indexNumbers(
  { data }: ChangeDeps,
  change: string,
  plan: ChangePlan,
  { requireLock }: Progress,
): Promise<void> {
  for (const { parents, index } of numbersKept(plan)) {
    // An index that another change has left behind may still be dropped by that change.
    await data.dropIndexes(parents, [index], requireLock, isBuilt);
    await requireLock();
    await data.build(parents, [index], { change, former: [] });
    // An index that was built too late is removed again, as it is for those of the table itself.
    await requireLock();
  }
}

/** Nobody checks beforehand against a unique index that existed before the table, or one over several fields. */
function refuseShared(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== "DUPLICATE_RESOURCE") throw error;
  const why = "a unique index forbids that records get the value that this change would give them";
  throw new AppError("CONFLICT", { message: `${error.message} (${why}).`, cause: error });
}

async function notUnique(
  deps: ChangeDeps,
  plan: ChangePlan,
  table: Table,
  spec: IndexSpec,
): Promise<AppError> {
  const fields = spec.key.map(([field]) => field);
  const { records, examples } = await deps.data.duplicates(table, fields);
  const names = fields.map((field) => memberIn(table, field)?.name ?? field).join(", ");
  const cost: Cost = {
    what: plan.steps[0]?.what ?? "table.set",
    where: names,
    rows: records,
    why: `would share their value with another record; ${remedyOf(plan, table, fields)}`,
    examples: examples.map((id) => idText(table, id)),
    confirmed: "impossible",
  };
  return destructive([cost], { hash: null, wasConfirmed: false });
}

/** How records come to differ in these fields. */
function remedyOf({ undoes, own }: ChangePlan, table: Table, fields: readonly string[]): string {
  const different = "make the values different first";
  if (undoes === undefined) return different;
  const present = own.from?.storage.fields ?? {};
  // Nobody writes the values of a column that has gone: they are shared because a record was restored meanwhile.
  if (fields.every((field) => present[memberIn(table, field)?.id ?? field] === undefined))
    return "nobody can change it before the undo, so delete one of those that share it first, and restore it when they differ";
  return `${different}, or switch off what makes them unique if that was set since`;
}
