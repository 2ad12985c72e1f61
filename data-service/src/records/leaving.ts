// Records that are about to be deleted: nothing new may link to them where that would forbid the delete, from the moment
// on that it looks for such links. What goes is noted, so that links which a crash keeps from being looked for are found.
import { AppError } from "@portico/shared/app-error";
import { ObjectId } from "bson";
import { type Catalog, incomingLinks, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import { idText } from "../mongo/record-store.js";
import type { Delete, Going } from "../mongo/unfinished-store.js";
import type { Document, Stage } from "../query/lower/document.js";
import type { RecordDeps } from "./deps.js";
import { deleteEffects, type Follow } from "./write-plan.js";

/** Names the deletes that want the record; no member's field begins with an underscore. */
export const LEAVING_FIELD = "_leaving";

/** How long a link to such a record waits for what becomes of it. */
const PATIENCE_MS = 5_000;
const LOOK_MS = 20;
/** Ids in one note; a document holds 16 MB. */
const MOST_IDS = 100_000;

/** Records of one table that go together. */
export interface DeleteStep {
  readonly table: Table;
  readonly ids: readonly Stored[];
}

/**
 * Deletes records under a note.
 * @param collect looks what goes with them, parents before children @throws AppError 409 when something stands against it
 * @param act deletes it, or says that it is not to be deleted after all
 * @returns what `act` says
 */
export async function deleteNoted(
  deps: RecordDeps,
  catalog: Catalog,
  collect: () => Promise<readonly DeleteStep[]>,
  act: (steps: readonly DeleteStep[]) => Promise<boolean>,
  follows?: Follow,
): Promise<boolean> {
  const { notes } = deps.deletes;
  const group = new ObjectId();
  const seen = new Map<string, Set<string>>();
  const marked: DeleteStep[] = [];
  const stay = async (): Promise<void> => {
    for (const step of marked) await unmark(deps, step, group);
    await notes.forgetDelete(group);
  };
  let steps = await collect();
  try {
    // What is marked gets no new links of the kind that stands against it: until nothing is new, look again.
    for (let fresh = unseen(seen, steps); fresh.length > 0; fresh = unseen(seen, steps)) {
      await notes.beginDelete(notesOf(deps, group, fresh, catalog));
      const toMark = fresh.filter(({ table }) => canBeHeld(catalog, table, follows));
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
  if (!(await act(steps))) {
    await stay();
    return false;
  }
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
  await store.updateMany(table, { _id: { $in: [...ids] } }, { $addToSet: { [LEAVING_FIELD]: group } });
}

/** Whoever waits for what becomes of the records may link to them. */
export async function unmark(
  { store }: Pick<RecordDeps, "store">,
  { table, ids }: DeleteStep,
  group: ObjectId,
): Promise<void> {
  const which = { _id: { $in: [...ids] }, [LEAVING_FIELD]: group };
  const others = { $filter: { input: `$${LEAVING_FIELD}`, cond: { $ne: ["$$this", group] } } };
  await store.updateMany(table, which, [{ $set: { [LEAVING_FIELD]: others } }]);
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
    const shown = { _id: 1, [LEAVING_FIELD]: { $ifNull: [{ $first: `$${LEAVING_FIELD}` }, null] } };
    const found = await store.read(table, [chosen, ...visible, { $project: shown }]);
    if (found.every((each) => each[LEAVING_FIELD] === null))
      return new Set(found.map(({ _id }) => idText(table, _id)));
    if (performance.now() - began > PATIENCE_MS) throw stillLeaving(table);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function stillLeaving(table: Table): AppError {
  return new AppError("SERVICE_UNAVAILABLE", {
    message: `A record of "${table.name}" that this request links to is being deleted; try again shortly.`,
    headers: { "Retry-After": "2" },
  });
}
