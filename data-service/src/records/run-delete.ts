// Deletes a record with all that `onDelete` asks for, in an order that leaves nothing dangling if the process dies in
// between. Where a table keeps its deleted records, they are marked instead of removed: docs/decisions/016-soft-deletion.md.
import { AppError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { type Catalog, incomingLinks, type Relation, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { idsOf, idText } from "../mongo/record-store.js";
import type { State } from "../query/living.js";
import type { Document } from "../query/lower/document.js";
import type { RecordDeps } from "./deps.js";
import { recordNotFound } from "./find-table.js";
import { beginAct, type DeletionAct, markDeleted, stateCondition } from "./kept.js";
import { type DeleteEffect, deleteEffects } from "./write-plan.js";

/** How far a delete reaches. */
export interface Reach {
  /** Takes away for good also what its table would keep, and what it has kept. */
  readonly permanent: boolean;
  /** Whether the caller may hear of a relation that stands against it. */
  readonly mayKnow: MayKnow;
  /** Relations that are followed instead of standing against it. */
  readonly follows?: (owner: Table, relation: Relation) => boolean;
  /** Asked about all that would go, before anything does; refuses by throwing. */
  readonly mayTake?: (step: DeleteStep) => Promise<void>;
}

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
  await deps.userHooks.beforeChange(table, id, null);
  if (!(await stillSatisfies(deps, table, id, guard))) return false;
  const steps = await collectDeletes(deps, catalog, { table, ids: [id] }, reach);
  for (const step of steps) await reach.mayTake?.(step);
  const act: DeletionAct = { id: new ObjectId(), at: deps.clock.now() };
  if (isKept(table, reach)) {
    if (!(await keepSteps(deps, catalog, { table, id }, steps, { reach, act, guard }))) return false;
  } else if (incomingLinks(catalog, table).length === 0) {
    // Nothing else is concerned: condition and deed are one.
    if ((await removeRecords(deps, table, [id], guard)) === 0) return false;
  } else await deleteSteps(deps, catalog, steps, { reach, act });
  await deps.userHooks.afterChange(table, id);
  return true;
}

/** Is what a delete takes away of a table kept there? */
function isKept(table: Table, { permanent }: Reach): boolean {
  return table.deletedAt !== undefined && !permanent;
}

/** Deletes a record that its table keeps, with all that goes with it. @returns false when it does not satisfy the guard */
async function keepSteps(
  deps: RecordDeps,
  catalog: Catalog,
  { table, id }: { readonly table: Table; readonly id: Stored },
  steps: readonly DeleteStep[],
  { reach, act, guard }: Deed & { readonly guard: Document },
): Promise<boolean> {
  // Nothing else is concerned: condition and deed are one.
  if (incomingLinks(catalog, table).length === 0)
    return (await markDeleted(deps, table, [id], act, guard)) > 0;
  const begun = await beginAct(deps, table, id, guard, act.at);
  if (begun === undefined) return false;
  await deleteSteps(deps, catalog, steps, { reach, act: begun });
  return true;
}

/** How a delete is done. */
interface Deed {
  readonly reach: Reach;
  readonly act: DeletionAct;
}

async function stillSatisfies(
  { store }: RecordDeps,
  table: Table,
  id: Stored,
  guard: Document,
): Promise<boolean> {
  if (Object.keys(guard).length === 0) return true;
  const found = await store.read(table, [
    { $match: { $and: [{ _id: id }, guard] } },
    { $project: { _id: 1 } },
  ]);
  return found.length > 0;
}

/**
 * Deletes the deepest records first, so that at no moment a link points nowhere, then looks once more for links that
 * were made meanwhile: whoever links later than that finds the record gone (see runCreate).
 */
async function deleteSteps(
  deps: RecordDeps,
  catalog: Catalog,
  steps: readonly DeleteStep[],
  deed: Deed,
): Promise<void> {
  const { reach, act } = deed;
  for (const step of steps.toReversed()) {
    if (isKept(step.table, reach)) await markDeleted(deps, step.table, step.ids, act);
    else {
      await unlink(deps, catalog, step, reach);
      await removeRecords(deps, step.table, step.ids, {});
    }
  }
  for (const step of steps) {
    for (const effect of effectsOf(catalog, step.table, reach)) {
      const late = effect.effect === "cascade" ? await linkedIds(deps, effect, step.ids, undefined) : [];
      if (late.length === 0) continue;
      const all = { ...reach, mayKnow: () => true };
      const more = await collectDeletes(deps, catalog, { table: effect.owner, ids: late }, all);
      await deleteSteps(deps, catalog, more, deed);
    }
    if (!isKept(step.table, reach)) await unlink(deps, catalog, step, reach);
  }
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

export interface DeleteStep {
  readonly table: Table;
  readonly ids: readonly Stored[];
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
