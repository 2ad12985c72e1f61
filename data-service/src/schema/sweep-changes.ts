// Removes for good what changes of tables took away, once it is too late to undo them.
import { ObjectId } from "bson";
import type { TableDefinition } from "../catalog/definition.js";
import { notesOf } from "../catalog/fills.js";
import { gramField, gramFieldsOf } from "../catalog/grams.js";
import { indexesOf } from "../catalog/indexes.js";
import type { SweptChange, TableChange } from "../mongo/change-store.js";
import type { RequireLock } from "../mongo/table-writes.js";
import { until } from "../until.js";
import type { ChangeDeps } from "./change-deps.js";
import { KEPT_MS } from "./change-table.js";
import { builtTable } from "./create-table.js";

/** A day more, so that nothing is swept while somebody undoes its change at the last moment. */
const SWEPT_AFTER_MS = KEPT_MS + 24 * 60 * 60 * 1000;
/** How often to look for what is older. */
const SWEEP_EVERY_MS = 60 * 60 * 1000;
/** How often to try for the lock: nobody waits for a sweep, while a change may take minutes. */
const LOCK_MS = 1_000;
/** How long to try: a stop of the service waits for this. */
const LOCK_PATIENCE_MS = 3_000;

/** `awaited`: a new table may use what is there, and may still be given up; `locked`: another change is at work. */
type End = "swept" | "awaited" | "locked";

/** Removes for good what is no longer kept, one change at a time, once an hour. */
export function makeSweeper(deps: ChangeDeps): () => Promise<void> {
  let sweptAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const began = deps.clock.now().getTime();
    if (began - sweptAt < SWEEP_EVERY_MS) return;
    sweptAt = began;
    for (;;) {
      const now = deps.clock.now();
      const change = await deps.changes.takeForSweeping(new Date(began - SWEPT_AFTER_MS), now);
      if (change === undefined) return;
      const end = await sweep(deps, change);
      if (end === "swept") await deps.changes.forget(change.id);
      // Until a change is taken again, an hour later, its remains count as kept. Another change may hold the lock for long, so
      // the next ones are looked at when this is called again.
      if (end === "locked") {
        sweptAt = Number.NEGATIVE_INFINITY;
        return;
      }
    }
  };
}

/**
 * Only what this very change took out of use: anything else belongs to another change, and is kept as long as that one. Of a
 * change that was undone, that is what did not come back, and has not been taken anew since.
 * @returns whether something is left that must wait
 */
async function sweep(deps: ChangeDeps, change: SweptChange): Promise<End> {
  for (const table of change.before) {
    // As they are now: sweeping what came before may have taken long. And the definitions first: a change is noted before it is
    // published, so one that took something out of these is among the others; read the other way round, it could be missed.
    const definitions = await deps.catalogStore.load();
    const others = await deps.changes.othersOf(change);
    const current = definitions.find(({ id }) => id === table.id);
    const isRemoved = ({ removed }: TableChange): boolean => removed.includes(table.id);
    if (current === undefined && isRemoved(change)) {
      const end = others.some(isRemoved) ? "swept" : await forgetTable(deps, table);
      if (end !== "swept") return end;
    } else if (table.storage.adopted === true) await sweepNotes(deps, change, table);
    else if (!(await isOthers(deps, table, definitions)))
      await sweepFields(deps, { change, table, current, others });
  }
  return "swept";
}

/**
 * What is known of a table that is gone, and its records. Adopted ones were there before it, so only its indexes go: unique ones
 * would refuse for ever what other programs write.
 */
async function forgetTable(deps: ChangeDeps, table: TableDefinition): Promise<End> {
  const { id, storage } = table;
  await deps.data.forgetSequence(id);
  await deps.journalStore.forgetTable(id);
  // A new table uses the indexes that it finds, so none may come to the collection in between (see create-table).
  return whileLocked(deps, async (requireLock) => {
    const isAwaited = (await deps.catalogStore.making()).some(
      ({ definition }) => definition.storage.collection === storage.collection,
    );
    if (isAwaited) return "awaited";
    if (!(await isOthers(deps, table, await deps.catalogStore.load()))) await drop(deps, table, requireLock);
    return "swept";
  });
}

async function drop(deps: ChangeDeps, table: TableDefinition, requireLock: RequireLock): Promise<void> {
  const built = builtTable(deps, table);
  if (table.storage.adopted === true) return deps.data.dropIndexes(built, indexesOf(built), requireLock);
  await requireLock();
  await deps.data.dropCollection(table.storage.collection);
}

/**
 * No table is changed meanwhile, and one whose name is reserved only now looks at no collection yet.
 * @returns what `act` returns, or `locked` where another change takes too long
 */
async function whileLocked(
  { changeLock, changesUnderWay, presence }: ChangeDeps,
  act: (requireLock: RequireLock) => Promise<End>,
): Promise<End> {
  const holder = { change: new ObjectId().toHexString(), instance: presence.id };
  return changesUnderWay.while(holder.change, async () => {
    const patience = { patienceMs: LOCK_PATIENCE_MS, everyMs: LOCK_MS, tooLate: () => false };
    if (!(await until(() => changeLock.take(holder), patience))) return "locked";
    try {
      return await act(() => changeLock.requireHeld(holder));
    } finally {
      await changeLock.release(holder);
    }
  });
}

/** Another table may have adopted the collection since, and come back to it if it was deleted. */
async function isOthers(
  deps: ChangeDeps,
  { id, storage }: TableDefinition,
  definitions: readonly TableDefinition[],
): Promise<boolean> {
  const users = definitions.filter((each) => each.storage.collection === storage.collection);
  const kept = await deps.changes.keptIn(storage.collection);
  return [...users.map((each) => each.id), ...kept].some((each) => each !== id);
}

/** Other programs may still use what an adopted table no longer shows. Notes are for an undo alone. */
async function sweepNotes(deps: ChangeDeps, change: SweptChange, table: TableDefinition): Promise<void> {
  const later = change.after.find(({ id }) => id === table.id);
  if (change.isUndone || later === undefined) return;
  await deps.data.unset(table.storage.collection, notesOf({ before: table, after: later }));
}

interface Swept {
  readonly change: SweptChange;
  /** As it was before the change. */
  readonly table: TableDefinition;
  readonly current: TableDefinition | undefined;
  /** All other changes of it that are not swept yet. */
  readonly others: readonly TableChange[];
}

async function sweepFields(deps: ChangeDeps, { change, table, current, others }: Swept): Promise<void> {
  const { id, storage } = table;
  const kept = [...fieldsOf(current), ...others.flatMap((other) => takenBy(other, id))];
  const taken = takenBy(change, id).filter((field) => !kept.includes(field));
  const grams = new Set([...taken.map((field) => gramField({ field })), ...gramsIn(table)]);
  for (const field of gramsIn(current)) grams.delete(field);
  await deps.data.unset(storage.collection, [...taken, ...grams]);
  // From here on nothing knows these fields; when a column is encrypted later, its former values are looked for in the
  // others.
  await deps.journalStore.forgetValues(id, taken);
}

/** The fields that a change took out of use in a table. */
function takenBy({ before, after }: Pick<TableChange, "before" | "after">, id: string): string[] {
  const left = fieldsOf(after.find((table) => table.id === id));
  return fieldsOf(before.find((table) => table.id === id)).filter((field) => !left.includes(field));
}

function fieldsOf(table: TableDefinition | undefined): string[] {
  return Object.values(table?.storage.fields ?? {});
}

/** Earlier versions left them in place when a column was no longer searchable. */
function gramsIn(table: TableDefinition | undefined): string[] {
  const { columns = [], storage } = table ?? {};
  return gramFieldsOf(
    columns.flatMap(({ id, searchable }) => {
      const field = storage?.fields[id];
      return field === undefined ? [] : [{ field, searchable }];
    }),
  );
}
