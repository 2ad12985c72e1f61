// Looks once more for links to what was deleted, a while after it. Every single delete leaves a note for this, so there may be
// very many: they are read as they come, and worked off for up to two thousand records at once.

import { getOrMake } from "../../get-or-make.js";
import { isUnanswered } from "../../mongo/driver-errors.js";
import type { Delete } from "../../mongo/unfinished-store.js";
import { isDead, type Onlooker } from "../../schema/dead-instances.js";
import { deleteKind, lookAgain, mustWait, type UnfinishedRepairDeps } from "./repair-unfinished.js";

/** No request takes longer between its two looks at a record that it links to. */
const LATE_MS = 60_000;
/** How many records are looked for at once; those of a single note may be more. */
const MOST_RECORDS = 2_000;

/** A link that was written beside a delete, and whose writer died before it looked again, is let go of. */
export async function lookAfterDeletes(
  deps: UnfinishedRepairDeps,
  { alone }: Pick<Onlooker, "alone">,
): Promise<void> {
  // One that can't be ended now must not keep the others waiting.
  for await (const batch of batchesOf(dueNotes(deps, alone)))
    await deps.gate.run(() => endDone(deps, batch)).catch(tellIn(deps, batch));
}

/** Notes whose time is over, and earlier those of dead processes, which may have been the writers as well. */
async function* dueNotes(
  { deletes, clock, instances }: UnfinishedRepairDeps,
  alone: boolean,
): AsyncGenerator<Delete> {
  const late = new Date(clock.now().getTime() - LATE_MS);
  const onlooker = { clock, instances: askedOnce(instances), own: deletes.instance, alone };
  for await (const note of deletes.notes.doneDeletes(deletes.instance, late))
    if (note.at < late || (await isDead(onlooker, note))) yield note;
}

/** Does not ask again for each note of an instance. */
function askedOnce(instances: Onlooker["instances"]): Onlooker["instances"] {
  const known = new Map<string, Promise<boolean>>();
  return { lives: (instance) => getOrMake(known, instance, () => instances.lives(instance)) };
}

interface Batch {
  readonly notes: Delete[];
  records: number;
}

/** Notes of one kind each. */
async function* batchesOf(notes: AsyncIterable<Delete>): AsyncGenerator<readonly Delete[]> {
  const gathered = new Map<string, Batch>();
  for await (const note of notes) {
    const kind = deleteKind(note);
    const batch = getOrMake(gathered, kind, (): Batch => ({ notes: [], records: 0 }));
    batch.notes.push(note);
    batch.records += note.ids.length;
    if (batch.records < MOST_RECORDS) continue;
    gathered.delete(kind);
    yield batch.notes;
  }
  for (const batch of gathered.values()) yield batch.notes;
}

async function endDone(deps: UnfinishedRepairDeps, batch: readonly Delete[]): Promise<void> {
  const { notes, instance } = deps.deletes;
  const [first] = batch;
  const catalog = await deps.catalogs.refresh();
  if (first === undefined || (await mustWait(deps, catalog, first.table))) return;
  if (!(await notes.takeDone(batch, instance, deps.clock.now()))) return;
  try {
    await lookAgain(deps, catalog, batch);
  } catch (error) {
    if (batch.length === 1 || isUnanswered(error)) throw error;
    for (const note of batch) await lookAgain(deps, catalog, [note]).catch(tellIn(deps, [note]));
  }
}

/** What is not ended is tried again when its time is over once more. */
function tellIn({ logger }: UnfinishedRepairDeps, batch: readonly Delete[]): (err: unknown) => void {
  const notes = batch.length;
  return (err) => logger.error({ err, notes, first: batch[0]?.id }, "a look after deletes is not done yet");
}
