// Makes a planned change of a table, exactly once and as a whole: see docs/decisions/004-changing-tables.md.
// lock → quiet → ask → note → fill → index → publish → everybody follows → tidy up → unlock
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { ObjectId } from "bson";
import type { SystemTableDefinition } from "../catalog/build-catalog.js";
import type { Table } from "../catalog/catalog.js";
import type { TableDefinition } from "../catalog/definition.js";
import type { IndexSpec } from "../catalog/indexes.js";
import type { CatalogStore, ChangeProgress, Holder } from "../mongo/catalog-store.js";
import type { Change, ChangeStore } from "../mongo/change-store.js";
import type { InstanceStore } from "../mongo/instance-store.js";
import type { Report, TableData } from "../mongo/table-data.js";
import type { Sealer } from "../records/seal.js";
import { type Cost, costsOf, destructive, fill, requireAllowed } from "./ask-data.js";
import type { CurrentCatalog } from "./current-catalog.js";
import { type BackfillDerived, newlyDerived } from "./newly-derived.js";
import { builtTables, indexChanges, type Plan } from "./plan-change.js";
import type { Presence } from "./presence.js";

export interface ChangeDeps {
  readonly catalogs: CurrentCatalog;
  readonly catalogStore: CatalogStore;
  readonly changes: ChangeStore;
  readonly instances: InstanceStore;
  readonly presence: Presence;
  readonly data: TableData;
  /** What `searchable` and `counted` need for records that are there already. */
  readonly backfillDerived: BackfillDerived;
  readonly sealer: Sealer;
  readonly systemTables: readonly SystemTableDefinition[];
  readonly systemTablePrefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Plans the change by the definitions of the moment; called again once nobody else can change them. */
export type Planner = (definitions: readonly TableDefinition[]) => Plan;

/** How long a change waits for another one to end. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 50;
/** How long it waits for writes that are under way. */
const QUIET_MS = 10_000;

/** Changes that this process is making; a lock of ours that is not among them was left behind by a failure. */
const running = new Set<string>();

/** A change that was accepted and is being made. */
export interface Started {
  /** Resolves when the change is in use on every instance; rejects when the records were against it after all. */
  readonly done: Promise<void>;
}

/**
 * Begins a change; resolves once it is accepted, so that a refusal is always told.
 * @param confirmed the hash that the client was shown, or undefined
 * @throws AppError 409 DESTRUCTIVE_CHANGE, 409 CONFLICT while another change is being made; nothing is changed then
 */
export function startChange(
  deps: ChangeDeps,
  planner: Planner,
  confirmed: string | undefined,
): Promise<Started> {
  return new Promise((resolve, reject) => {
    const done = runChange(deps, planner, { confirmed, accepted: () => resolve({ done }) });
    done.then(() => resolve({ done }), reject);
  });
}

/** How a change is made. */
interface Order {
  readonly confirmed: string | undefined;
  /** Called when nothing but the values of the records can be against it any more. */
  readonly accepted: () => void;
}

async function runChange(deps: ChangeDeps, planner: Planner, order: Order): Promise<void> {
  // Asked before anybody is held up: most refusals come from here.
  const first = planner(await deps.catalogStore.load());
  if (first.steps.length === 0) return;
  requireAllowed(first, await costsOf(deps, first), order.confirmed);
  const holder = { change: new ObjectId().toHexString(), instance: deps.presence.id };
  running.add(holder.change);
  try {
    await takeLock(deps, holder);
    await whileLocked(deps, holder, planner, order);
  } finally {
    running.delete(holder.change);
  }
}

async function takeLock({ catalogStore }: ChangeDeps, holder: Holder): Promise<void> {
  const began = performance.now();
  while (!(await catalogStore.lock(holder))) {
    if (performance.now() - began > PATIENCE_MS)
      throw new AppError("CONFLICT", "Another change of a table is being made; try again when it is done.");
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

async function whileLocked(deps: ChangeDeps, holder: Holder, planner: Planner, order: Order): Promise<void> {
  try {
    const plan = planner(await deps.catalogStore.load());
    if (plan.undoes !== undefined) await requireNotUndone(deps, plan.undoes);
    if (plan.steps.length > 0) await make(deps, holder, plan, order);
    await deps.catalogStore.unlock(holder);
  } catch (error) {
    // If this fails too, the lock stays, and the next beat of any instance ends what is left.
    await endInterrupted(deps, holder);
    throw error;
  }
}

/** Two that undo at once must not both bring the same change back. */
async function requireNotUndone({ changes }: ChangeDeps, { id, table, at }: Change): Promise<void> {
  const last = await changes.lastUndoable(table, new Date(at.getTime() - 1));
  if (last?.id !== id)
    throw new AppError("CONFLICT", "Another request has changed or brought back the same table.");
}

async function make(deps: ChangeDeps, holder: Holder, plan: Plan, order: Order): Promise<void> {
  const needsQuiet =
    plan.fills.length > 0 || plan.undoes !== undefined || plan.steps.some((each) => each.risks.length > 0);
  if (needsQuiet) await deps.presence.everyone(await deps.catalogStore.freeze(holder, plan.table), QUIET_MS);
  const costs = await costsOf(deps, plan);
  requireAllowed(plan, costs, order.confirmed);
  const change = changeOf(holder, deps.clock.now(), await withoutUnmetNeeds(deps, plan), costs.length > 0);
  await deps.changes.begin(change);
  order.accepted();
  const progress = await progressOf(deps, plan, change);
  try {
    await prepare(deps, plan, progress);
  } catch (error) {
    await progress.end(
      "failed",
      error instanceof AppError ? error.message : "an unforeseen error; see the log",
    );
    throw error;
  }
  const version = await deps.catalogStore.publishChange(holder);
  await finish(deps, change, version, plan, progress.add);
  await progress.end("done", null);
}

/**
 * Records that were written while a required column was gone have no value for it: it comes back optional then.
 * Nothing of this can happen to a change that is not an undo, whose costs were confirmed.
 */
async function withoutUnmetNeeds(deps: ChangeDeps, plan: Plan): Promise<Plan> {
  const [own] = plan.definitions;
  const { before } = plan;
  if (plan.undoes === undefined || before === undefined || own?.to === undefined) return plan;
  const { to } = own;
  const converted = new Set(
    plan.fills.flatMap((each) => (each.kind === "mark" ? [] : "to" in each ? [each.to] : [])),
  );
  const unmet = async <Member extends { readonly id: string; readonly required: boolean }>(
    member: Member,
  ) => {
    const field = to.storage.fields[member.id];
    if (!member.required || field === undefined || converted.has(field)) return member;
    const { records } = await deps.data.withField(before, field, false);
    return records === 0 ? member : { ...member, required: false };
  };
  const columns = await Promise.all(to.columns.map(unmet));
  const relations = await Promise.all(to.relations.map(unmet));
  const [, ...others] = plan.definitions;
  return { ...plan, definitions: [{ ...own, to: { ...to, columns, relations } }, ...others] };
}

function changeOf({ change }: Holder, at: Date, plan: Plan, hasCosts: boolean): Change {
  const { definitions, table, undoes } = plan;
  const removed = definitions.flatMap(({ from, to }) =>
    from !== undefined && to === undefined ? [from.id] : [],
  );
  return {
    ...{ id: change, table, removed, at },
    before: definitions.flatMap(({ from }) => from ?? []),
    after: definitions.flatMap(({ to }) => to ?? []),
    undoable: undoes === undefined && (hasCosts || removed.length > 0),
    undoes: undoes?.id ?? null,
  };
}

/** Everything that can be there before anybody knows of it. @throws AppError 409 for values that are not unique */
async function prepare(deps: ChangeDeps, plan: Plan, progress: Progress): Promise<void> {
  const { after } = plan;
  if (after === undefined) return;
  for (const each of plan.fills) await fill(deps, plan, after, each, progress.add);
  const { build, drop } = indexChanges(plan);
  // MongoDB tells indexes apart by their keys: one that becomes unique must make room first.
  const replaced = drop.filter((spec) => build.some((other) => sameKeys(spec, other)));
  await deps.data.dropIndexes(after, replaced);
  for (const spec of build) {
    if (!(await deps.data.build(after, [spec]))) throw await notUnique(deps, plan, after, spec);
    await progress.add(1);
  }
}

function sameKeys(a: IndexSpec, b: IndexSpec): boolean {
  return a.key.flat().join(" ") === b.key.flat().join(" ");
}

async function notUnique(deps: ChangeDeps, plan: Plan, table: Table, spec: IndexSpec): Promise<AppError> {
  const fields = spec.key.map(([field]) => field);
  const { records, examples } = await deps.data.duplicates(table, fields);
  const names = fields.map((field) => nameOf(table, field)).join(", ");
  const cost: Cost = {
    ...{ what: plan.steps[0]?.what ?? "table.set", where: names, rows: records },
    why: "would share their value with another record; make the values different first",
    ...{ examples: examples.map(String), confirmed: "impossible" },
  };
  return destructive([cost], null, false);
}

function nameOf(table: Table, field: string): string {
  const column = [...table.columns.values()].find((each) => each.field === field);
  const relation = [...table.relations.values()].find(
    (each) => each.link.on === "self" && each.link.field === field,
  );
  return column?.name ?? relation?.name ?? field;
}

/** The change is in use: everybody follows, then what only the former definition needed goes. */
async function finish(
  deps: ChangeDeps,
  change: Change,
  version: number,
  plan: Pick<Plan, "before" | "after">,
  report: Report = async () => {},
): Promise<void> {
  await deps.changes.finish(change);
  await deps.presence.everyone(version);
  const { before, after } = plan;
  if (after === undefined) return;
  if (before !== undefined)
    await deps.data.dropIndexes(after, indexChanges(plan).drop.filter(keepsNoName(plan)));
  if (change.undoes !== null) await unlinkLost(deps, after);
  const derived = newlyDerived(before, after);
  if (derived !== undefined) await deps.backfillDerived(derived, report);
}

/** Not one whose name the new definition uses for another index. */
function keepsNoName(plan: Pick<Plan, "before" | "after">): (spec: IndexSpec) => boolean {
  const { build } = indexChanges(plan);
  return (spec) => !build.some((other) => sameKeys(spec, other));
}

/** Links that came back may lead to records that were deleted meanwhile. */
async function unlinkLost(deps: ChangeDeps, table: Table): Promise<void> {
  const catalog = await deps.catalogs.refresh();
  for (const { link, target } of table.relations.values()) {
    const collection = catalog.tables.get(target)?.collection;
    if (link.on === "self" && collection !== undefined)
      await deps.data.unlinkLost(table, link.field, link.list, collection);
  }
}

/**
 * Ends a change whose maker is gone or has failed: given up when it was not in use yet, tidied up when it was.
 * @param holder who holds the lock now: this instance
 * @returns what became of it
 */
async function endInterrupted(
  deps: ChangeDeps,
  holder: Holder,
): Promise<{ change: Change; done: boolean } | undefined> {
  const lock = await deps.catalogStore.lockedBy();
  if (lock?.change !== holder.change || lock.instance !== holder.instance) return undefined;
  const change = await deps.changes.find(holder.change);
  if (change !== undefined) {
    const tables = await tablesOf(deps, change);
    if (lock.published) await finish(deps, change, (await deps.catalogs.refresh()).version, tables);
    else await giveUp(deps, change, tables);
  }
  await deps.catalogStore.unlock(holder);
  return change && { change, done: lock.published };
}

async function tablesOf(
  deps: ChangeDeps,
  { before, after }: Change,
): Promise<Pick<Plan, "before" | "after">> {
  const ids = [...new Set([...before, ...after].map((each) => each.id))];
  const find = (list: readonly TableDefinition[], id: string) => list.find((each) => each.id === id);
  const changed = ids.map((id) => {
    const [from, to] = [find(before, id), find(after, id)];
    return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  });
  return builtTables(deps, await deps.catalogStore.load(), changed);
}

/** Takes back what nobody has seen: indexes and values of the new definition. */
async function giveUp(deps: ChangeDeps, change: Change, plan: Pick<Plan, "before" | "after">): Promise<void> {
  const { before, after } = plan;
  const [from, to] = [change.before[0], change.after[0]];
  if (before !== undefined && after !== undefined && from !== undefined && to !== undefined) {
    const { build, drop } = indexChanges(plan);
    await deps.data.dropIndexes(before, build);
    await deps.data.build(before, drop);
    const former = new Set([...Object.values(from.storage.fields), ...(from.storage.retired ?? [])]);
    const fresh = Object.values(to.storage.fields).filter((field) => !former.has(field));
    await deps.data.unset(before.collection, fresh);
  }
  await deps.changes.forget(change.id);
}

async function reportEnd({ catalogStore, clock }: ChangeDeps, change: Change, done: boolean): Promise<void> {
  await catalogStore.report(change.table, {
    ...{ id: change.id, state: done ? "done" : "failed", done: 0, total: 0, startedAt: change.at },
    ...{ finishedAt: clock.now(), problem: done ? null : "it was interrupted and has been taken back" },
  });
}

/** Ends what an instance that is gone has left. @returns whether nothing is left to wait for */
export async function recoverChanges(deps: ChangeDeps): Promise<boolean> {
  const lock = await deps.catalogStore.lockedBy();
  if (lock === undefined) return true;
  const { change, instance } = lock;
  const isOurs = instance === deps.presence.id;
  if (isOurs ? running.has(change) : await deps.instances.lives(instance)) return false;
  if (!isOurs && !(await deps.catalogStore.takeOver({ change, instance }, deps.presence.id))) return false;
  deps.logger.warn({ change, instance }, "ending an interrupted change of a table");
  running.add(change);
  try {
    const ended = await endInterrupted(deps, { change, instance: deps.presence.id });
    if (ended !== undefined) await reportEnd(deps, ended.change, ended.done);
  } finally {
    running.delete(change);
  }
  return true;
}

interface Progress {
  /** So many records or indexes more are ready. */
  readonly add: (count: number) => Promise<void>;
  readonly end: (state: "done" | "failed", problem: string | null) => Promise<void>;
}

async function progressOf(
  { catalogStore, clock, data }: ChangeDeps,
  plan: Plan,
  change: Change,
): Promise<Progress> {
  const { before } = plan;
  const records = before === undefined || plan.fills.length === 0 ? 0 : await data.count(before);
  const total = records * plan.fills.length + indexChanges(plan).build.length;
  let done = 0;
  const report = (state: ChangeProgress["state"], problem: string | null): Promise<void> =>
    catalogStore.report(plan.table, {
      ...{ id: change.id, state, done: Math.min(done, total), total, startedAt: change.at, problem },
      finishedAt: state === "running" ? null : clock.now(),
    });
  if (total > 0) await report("running", null);
  return {
    async add(count) {
      done += count;
      await report("running", null);
    },
    async end(state, problem) {
      if (state === "done") done = total;
      await report(state, problem);
    },
  };
}
