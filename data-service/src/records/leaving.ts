// Records that are about to be deleted: nothing new may link to them where that would forbid the delete, from the moment
// on that it looks for such links, and changes wait until it is decided. What goes is noted, so that links which a crash
// keeps from being looked for are found.
import { type AppError, unavailable } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { type Catalog, incomingLinks, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { idText } from "../mongo/record-store.js";
import type { Delete, Going } from "../mongo/unfinished-store.js";
import type { Document, Stage } from "../query/lower/document.js";
import type { RecordDeps } from "./deps.js";
import { deleteEffects, type Follow } from "./write-plan.js";

/**
 * An object with a member for each delete that wants the record, or not there at all; no member's field begins with an
 * underscore. Not a list, so that a change can say in its own words that there must be none (see updateById).
 */
export const LEAVING_FIELD = "_leaving_for";

/** How long a change of such a record, or a link to it, waits for what becomes of it. */
const PATIENCE_MS = 5_000;
const LOOK_MS = 20;
/** Ids in one note; a document holds 16 MB. */
const MOST_IDS = 100_000;

/** Records of one table that go together. */
export interface DeleteStep {
  readonly table: Table;
  readonly ids: readonly Stored[];
}

/** What to delete under a note. */
export interface NotedDelete {
  /** The records that it begins with. */
  readonly first: DeleteStep;
  /** What these must satisfy in the moment that decides; `{}` = nothing. */
  readonly guard: Document;
  /** Looks what goes with them, parents before children. @throws AppError 409 when something stands against it */
  readonly collect: () => Promise<readonly DeleteStep[]>;
  /** Deletes it, or says that it is not to be deleted after all. What goes alone is still to be judged by the guard. */
  readonly act: (steps: readonly DeleteStep[]) => Promise<boolean>;
  readonly follows?: Follow | undefined;
}

/** Deletes records under a note. @returns what `act` says; false as well when the guard does not hold */
export async function deleteNoted(
  deps: RecordDeps,
  catalog: Catalog,
  { first, guard, collect, act, follows }: NotedDelete,
): Promise<boolean> {
  const { notes } = deps.deletes;
  const group = new ObjectId();
  const seen = new Map<string, Set<string>>();
  const marked: DeleteStep[] = [];
  const stay = async (): Promise<false> => {
    for (const step of marked) await unmark(deps, step, group);
    await notes.forgetDelete(group);
    return false;
  };
  let steps = await collect();
  let isJudged = Object.keys(guard).length === 0;
  try {
    // What is marked gets no new links of the kind that stands against it: until nothing is new, look again.
    for (let fresh = unseen(seen, steps); fresh.length > 0; fresh = unseen(seen, steps)) {
      await notes.beginDelete(notesOf(deps, group, fresh, catalog));
      const toMark = fresh.filter(({ table }) => canBeHeld(catalog, table, follows));
      // From here on others wait for it, or go before it.
      if (!isJudged && (steps.length > 1 || toMark.length > 0)) {
        marked.push(first);
        isJudged = await claim(deps, first, group, guard);
        if (!isJudged) return await stay();
      }
      for (const step of toMark) {
        marked.push(step);
        await mark(deps, step, group);
      }
      if (toMark.length === 0) break;
      steps = await collect();
    }
  } catch (error) {
    await stay();
    throw error;
  }
  if (!(await act(steps))) return stay();
  // What its table keeps may come back, and be linked to again.
  for (const step of marked) if (step.table.deletedAt !== undefined) await unmark(deps, step, group);
  // Nobody waits for it: not knowing it costs another look later, no more.
  notes.deleted(group, deps.clock.now()).catch(() => undefined);
  return true;
}

/** Those of the steps that were not seen before; notes them. */
function unseen(seen: Map<string, Set<string>>, steps: readonly DeleteStep[]): DeleteStep[] {
  return steps.flatMap(({ table, ids }) => {
    const known = seen.get(table.id) ?? new Set();
    const fresh = ids.filter((id) => !known.has(idText(table, id)));
    for (const id of fresh) known.add(idText(table, id));
    seen.set(table.id, known);
    return fresh.length === 0 ? [] : [{ table, ids: fresh }];
  });
}

/** Can a link to a record of this table stand against its delete? */
function canBeHeld(catalog: Catalog, table: Table, follows?: Follow): boolean {
  const effects = deleteEffects(incomingLinks(catalog, table), follows);
  return effects.some(({ effect }) => effect === "restrict");
}

function notesOf(
  { deletes: { instance }, clock }: RecordDeps,
  group: ObjectId,
  steps: readonly DeleteStep[],
  catalog: Catalog,
): Delete[] {
  const going = steps
    .filter(({ table }) => incomingLinks(catalog, table).length > 0)
    .flatMap(({ table, ids }): Going[] => {
      const count = Math.ceil(ids.length / MOST_IDS);
      return Array.from({ length: count }, (_, at) => ({
        table: table.id,
        ids: ids.slice(at * MOST_IDS, (at + 1) * MOST_IDS),
      }));
    });
  return going.map((each) => ({
    ...{ id: new ObjectId(), group, instance, at: clock.now(), done: false },
    ...each,
  }));
}

async function mark({ store }: RecordDeps, { table, ids }: DeleteStep, group: ObjectId): Promise<void> {
  await store.updateMany(table, { _id: { $in: [...ids] } }, { $set: { [markOf(group)]: true } });
}

/**
 * Marks records while they satisfy the guard. To judge and to mark are one write, and changes wait for what is marked
 * (see `heldBy`): so they go as they were judged, however long that takes.
 * @returns false when they don't satisfy it
 */
async function claim(
  { store }: RecordDeps,
  { table, ids }: DeleteStep,
  group: ObjectId,
  guard: Document,
): Promise<boolean> {
  const which = { $and: [{ _id: { $in: [...ids] } }, guard] };
  return store.update(table, which, { $set: { [markOf(group)]: true } });
}

function markOf(group: ObjectId): string {
  return `${LEAVING_FIELD}.${group.toHexString()}`;
}

/** The field that keeps a record of this table from being changed; none where one that is deleted is gone in the same moment. */
export function heldBy(catalog: Catalog, table: Table): string | undefined {
  return incomingLinks(catalog, table).length === 0 ? undefined : LEAVING_FIELD;
}

/** Whoever waits for what becomes of the records may change them, and link to them. */
export async function unmark(
  { store }: Pick<RecordDeps, "store">,
  { table, ids }: DeleteStep,
  group: ObjectId,
): Promise<void> {
  const which = { _id: { $in: [...ids] }, [markOf(group)]: true };
  const others = { $unsetField: { field: group.toHexString(), input: `$${LEAVING_FIELD}` } };
  const left = { $cond: [{ $eq: [others, {}] }, "$$REMOVE", others] };
  await store.updateMany(table, which, [{ $set: { [LEAVING_FIELD]: left } }]);
}

/**
 * Those of the records that may be linked to, as JSON text.
 * @param holds whether such a link would forbid their delete: then what becomes of records under way to it is waited for
 * @throws AppError 503 when that takes long
 */
export async function linkable(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  ids: readonly Stored[],
  holds: boolean,
  visible: readonly Stage[] = [],
): Promise<ReadonlySet<string>> {
  if (!holds) return store.existing(table, ids, visible);
  const chosen: Document = { $match: { _id: { $in: [...ids] } } };
  const began = performance.now();
  for (;;) {
    const found = await store.read(table, [chosen, ...visible, { $project: { _id: 1, [LEAVING_FIELD]: 1 } }]);
    if (found.every((each) => each[LEAVING_FIELD] === undefined))
      return new Set(found.map(({ _id }) => idText(table, _id)));
    if (performance.now() - began > PATIENCE_MS) throw stillLeaving(table);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** Resolves when no delete wants the record any more, if it is still there. @throws AppError 503 when that takes long */
export async function decided(deps: Pick<RecordDeps, "store">, table: Table, id: Stored): Promise<void> {
  await linkable(deps, table, [id], true);
}

function stillLeaving(table: Table): AppError {
  return unavailable(
    `A record of "${table.name}" that this request changes or links to is being deleted; try again shortly.`,
    2,
  );
}
