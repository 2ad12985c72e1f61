// Deletes a record with all that `onDelete` asks for, in an order that leaves nothing dangling if the process dies in
// between. Where a table keeps its deleted records, they are marked instead of removed: docs/decisions/016-soft-deletion.md.
import { AppError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { type Catalog, incomingLinks, type Relation, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { idsOf, idText } from "../mongo/record-store.js";
import type { ReadView } from "../permission/read-view.js";
import type { State } from "../query/living.js";
import type { Document } from "../query/lower/document.js";
import type { RecordDeps } from "./deps.js";
import { recordNotFound } from "./find-table.js";
import { beginAct, type DeletionAct, markDeleted, stateCondition } from "./kept.js";
import { type DeleteStep, deleteNoted } from "./leaving.js";
import { type DeleteEffect, deleteEffects, type Follow } from "./write-plan.js";

/** How far a delete reaches. */
export interface Reach {
  /** Takes away for good also what its table would keep, and what it has kept. */
  readonly permanent: boolean;
  /** Whether the caller may hear of a relation that stands against it. */
  readonly mayKnow: MayKnow;
  /** Relations that are followed instead of standing against it. */
  readonly follows?: Follow;
  /** Asked about all that would go, before anything does; refuses by throwing. */
  readonly mayTake?: (step: DeleteStep) => Promise<void>;
}

/** What nobody asked for: nothing is told, and nothing is kept from going. */
export const OWN_REACH: Reach = { permanent: false, mayKnow: () => true };

/**
 * Deletes a record with all that `onDelete` asks for. Everything that could refuse is asked first, through all levels.
 * @param guard only while the record satisfies it; `{}` = always
 * @returns false when the record is there and does not satisfy the guard
 */
export async function runDelete(
  deps: RecordDeps,
  catalog: Catalog,
  table: Table,
  id: Stored,
  guard: Document,
  reach: Reach,
): Promise<boolean> {
  if ((await deps.store.existing(table, [id])).size === 0) throw recordNotFound(table);
  const done = await deps.userHooks.changing(table, id, null, async () => {
    const first = { table, ids: [id] };
    if (incomingLinks(catalog, table).length > 0) return takeAway(deps, catalog, first, reach, { guard });
    return (await deleteStep(deps, first, reach, newAct(deps), guard)) > 0;
  });
  if (done) await deps.userHooks.afterChange(table, id);
  return done;
}

/** Is what a delete takes away of a table kept there? */
function isKept(table: Table, { permanent }: Reach): boolean {
  return table.deletedAt !== undefined && !permanent;
}

const newAct = ({ clock }: RecordDeps): DeletionAct => ({ id: new ObjectId(), at: clock.now() });

/** Deletes records by themselves: the condition and the deed are one. @returns how many went */
function deleteStep(
  deps: RecordDeps,
  { table, ids }: DeleteStep,
  reach: Reach,
  act: DeletionAct,
  guard: Document,
): Promise<number> {
  if (isKept(table, reach)) return markDeleted(deps, table, ids, act, guard);
  return removeRecords(deps, table, ids, guard);
}

/**
 * Deletes records with all that `onDelete` asks for, whoever wants it.
 * @param besides the act that they go in, when it has begun already; what a single record must satisfy
 * @returns false when the record does not satisfy the guard, or is deleted already
 * @throws AppError 409 when something stands against it
 */
export async function takeAway(
  deps: RecordDeps,
  catalog: Catalog,
  first: DeleteStep,
  reach: Reach = OWN_REACH,
  { act, guard = {} }: { readonly act?: DeletionAct; readonly guard?: Document } = {},
): Promise<boolean> {
  const collect = async (): Promise<DeleteStep[]> => {
    const steps = await collectDeletes(deps, catalog, first, reach);
    for (const step of steps) await reach.mayTake?.(step);
    return steps;
  };
  const begin = async (): Promise<DeletionAct | undefined> => {
    const [id] = first.ids;
    if (act !== undefined || id === undefined || !isKept(first.table, reach)) return act ?? newAct(deps);
    return beginAct(deps, first.table, id, guard, deps.clock.now());
  };
  const go = async (steps: readonly DeleteStep[]): Promise<boolean> => {
    const begun = await begin();
    return begun !== undefined && deleteSteps(deps, catalog, steps, reach, begun, guard);
  };
  return deleteNoted(deps, catalog, { first, guard, collect, act: go, follows: reach.follows });
}

/**
 * Deletes the deepest records first, so that at no moment a link points nowhere, then looks once more for links that
 * were made meanwhile: whoever links later than that finds the record gone (see runCreate).
 * @param guard what a record that goes alone must satisfy; one that takes others along is judged before (see deleteNoted)
 * @returns false when it does not, or another delete was faster
 */
async function deleteSteps(
  deps: RecordDeps,
  catalog: Catalog,
  steps: readonly DeleteStep[],
  reach: Reach,
  act: DeletionAct,
  guard: Document,
): Promise<boolean> {
  const isJudged = Object.keys(guard).length > 0;
  const isAlone = isJudged && steps.length === 1;
  for (const [at, step] of [...steps.entries()].toReversed()) {
    // The links to one that goes alone are let go by the look that follows: had it to stay, they could not come back.
    if (!isAlone && !isKept(step.table, reach)) await unlink(deps, catalog, step, reach);
    const went = await deleteStep(deps, step, reach, act, isAlone ? guard : {});
    if (isJudged && at === 0 && went === 0) return false;
  }
  for (const step of steps) await lookAgain(deps, catalog, step, reach, act);
  return true;
}

/** Links that were made to records while these went. Those to records that are kept lead nowhere by themselves. */
export async function lookAgain(
  deps: RecordDeps,
  catalog: Catalog,
  step: DeleteStep,
  reach: Reach = OWN_REACH,
  act: DeletionAct = newAct(deps),
): Promise<void> {
  const isGone = !isKept(step.table, reach);
  for (const effect of effectsOf(catalog, step.table, reach)) {
    const late = await linkedIds(deps, effect, step.ids, undefined);
    if (late.length === 0) continue;
    const { owner, relation } = effect;
    const { field } = relation.link;
    const letGo = async (which: Document = {}): Promise<void> => {
      const linked = { ...which, [field]: { $in: [...step.ids] } };
      if (isGone) await deps.writes.moveLink(owner, field, linked, null);
    };
    if (effect.effect === "restrict") {
      await letGo();
      continue;
    }
    const { permanent, mayTake } = reach;
    const all: Reach = { permanent, mayKnow: () => true, ...(mayTake === undefined ? {} : { mayTake }) };
    // Where each is asked about, one that may not go keeps none of the others.
    for (const ids of mayTake === undefined ? [late] : late.map((id) => [id])) {
      const leave = () => letGo({ _id: { $in: ids } });
      await takeAway(deps, catalog, { table: owner, ids }, all, { act }).catch(onRefusal(leave));
    }
  }
  if (isGone) await unlink(deps, catalog, step, reach);
}

/** What stands against going along, or may not be taken by the caller, is left without the link. */
function onRefusal(letGo: () => Promise<void>): (error: unknown) => Promise<void> {
  return async (error) => {
    const isRefusal = error instanceof AppError && ["CONFLICT", "FORBIDDEN"].includes(error.code);
    if (!isRefusal) throw error;
    await letGo();
  };
}

/** What a delete does to the records that link to its own. */
interface Effect extends DeleteEffect {
  /** Those among them that it concerns. */
  readonly state: State;
}

/**
 * Links to what is kept stay as they are, for they lead nowhere while it is deleted, and links from what is deleted
 * already concern nobody. What is gone for good must leave no link, so there the deleted ones count too.
 */
function effectsOf(catalog: Catalog, table: Table, reach: Reach): Effect[] {
  const isKeptHere = isKept(table, reach);
  return deleteEffects(incomingLinks(catalog, table), reach.follows)
    .filter(({ effect }) => effect !== "unlink")
    .map((each) => {
      const { owner, effect } = each;
      // Nothing is lost by a delete that can be undone: what would go for good stands against it.
      if (isKeptHere && effect === "cascade" && !isKept(owner, reach))
        return { ...each, effect: "restrict", state: "living" };
      const keepsThem = effect === "cascade" && isKept(owner, reach);
      return { ...each, state: isKeptHere || keepsThem ? "living" : "all" };
    });
}

/** @returns how many went */
function removeRecords(
  deps: RecordDeps,
  table: Table,
  ids: readonly Stored[],
  guard: Document,
): Promise<number> {
  return deps.fileHooks.removing(table, ids, (condition) => {
    const both = Object.keys(guard).length === 0 ? condition : { $and: [guard, condition] };
    return deps.writes.remove(table, ids, both);
  });
}

/** What goes, parents before children; a record that is reached again, as in a circle, goes once. */
async function collectDeletes(
  deps: RecordDeps,
  catalog: Catalog,
  first: DeleteStep,
  reach: Reach,
): Promise<DeleteStep[]> {
  const seen = new Map<string, Set<string>>();
  const unseen = ({ table, ids }: DeleteStep): Stored[] =>
    ids.filter((id) => !seen.get(table.name)?.has(idText(table, id)));
  const steps: DeleteStep[] = [];
  // The list grows while it is walked: every step adds the records that link to its own.
  const wanted: DeleteStep[] = [first];
  for (const step of wanted) {
    const { table } = step;
    const ids = unseen(step);
    if (ids.length === 0) continue;
    seen.set(table.name, new Set([...(seen.get(table.name) ?? []), ...ids.map((id) => idText(table, id))]));
    steps.push({ table, ids });
    for (const effect of effectsOf(catalog, table, reach)) {
      // One more than those that go anyway is enough to know that something else links here.
      const enough = effect.effect === "restrict" ? (seen.get(effect.owner.name)?.size ?? 0) + 1 : undefined;
      const others = unseen({ table: effect.owner, ids: await linkedIds(deps, effect, ids, enough) });
      if (effect.effect === "restrict" && others.length > 0)
        throw await restricted(deps, table, effect, ids, reach);
      wanted.push({ table: effect.owner, ids: others });
    }
  }
  return steps;
}

async function linkedIds(
  deps: RecordDeps,
  { owner, relation, state }: Effect,
  ids: readonly Stored[],
  limit: number | undefined,
): Promise<Stored[]> {
  const found = await deps.store.read(owner, [
    { $match: { [relation.link.field]: { $in: [...ids] }, ...stateCondition(owner, state) } },
    ...(limit === undefined ? [] : [{ $limit: limit }]),
    { $project: { _id: 1 } },
  ]);
  return idsOf(owner, found);
}

/** Tells whether the caller may hear of a relation. */
export type MayKnow = (owner: Table, relation: Relation) => boolean;

/** What stands in records that the caller may read. */
export function knownBy(view: ReadView): MayKnow {
  return (owner, relation) => view.shows(owner, relation);
}

async function restricted(
  deps: RecordDeps,
  table: Table,
  effect: Effect,
  ids: readonly Stored[],
  { mayKnow }: Reach,
): Promise<AppError> {
  const { owner, relation } = effect;
  if (!mayKnow(owner, relation))
    return new AppError("CONFLICT", `Other records still link to this "${table.name}" record.`);
  const isDeleted =
    effect.state === "all" && (await linkedIds(deps, { ...effect, state: "living" }, ids, 1)).length === 0;
  const link = `link to this "${table.name}" record by "${relation.name}"`;
  const message = isDeleted
    ? `Deleted records of "${owner.name}" still ${link}; remove them for good first.`
    : relation.onDelete === "CASCADE"
      ? `Records of "${owner.name}" ${link} and would go with it for good; delete or move them first, or give their table softDelete.`
      : `Records of "${owner.name}" still ${link}; delete or move them first.`;
  return new AppError("CONFLICT", { message, details: { table: owner.name, relation: relation.name } });
}

/** Takes the ids out of every link that a delete for good sets to null, and out of those of records that are kept. */
async function unlink(
  deps: RecordDeps,
  catalog: Catalog,
  { table, ids }: DeleteStep,
  reach: Reach,
): Promise<void> {
  for (const { owner, relation } of incomingLinks(catalog, table)) {
    const { field, list } = relation.link;
    const linked = { [field]: { $in: [...ids] } };
    const isKeptChild = relation.onDelete === "CASCADE" && isKept(owner, reach);
    if (list) await deps.writes.takeFromList(owner, field, linked, ids);
    else if (relation.onDelete === "SET NULL") await deps.writes.moveLink(owner, field, linked, null);
    // A living one among these has come late, and is still to be deleted.
    else if (isKeptChild)
      await deps.writes.moveLink(owner, field, { ...linked, ...stateCondition(owner, "deleted") }, null);
  }
}
