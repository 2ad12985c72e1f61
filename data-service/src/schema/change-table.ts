// PATCH and DELETE of a table, undo, and the removal of what is no longer kept.
import { AppError } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import type { TableDefinition } from "../catalog/definition.js";
import { notesOf } from "../catalog/fills.js";
import { gramField, gramFieldsOf } from "../catalog/grams.js";
import { systemTableNames } from "../catalog/system-tables.js";
import type { Change } from "../mongo/change-store.js";
import { type Expected, notAtVersion } from "../records/version.js";
import type { ChangeDeps } from "./change-deps.js";
import { type Plan, planChange, planRemoval } from "./plan-change.js";
import { planUndo, settingsLeftAlone } from "./plan-undo.js";
import { type Planner, type Started, startChange } from "./run-change.js";

/** How long what a change took away is kept: 30 days. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** A day more, so that nothing is swept up while somebody undoes its change in the last moment. */
const SWEPT_AFTER_MS = KEPT_MS + 24 * 60 * 60 * 1000;
/** How often it is looked for what is older. */
const SWEEP_EVERY_MS = 60 * 60 * 1000;

/**
 * Changes a table; the change is in use on every instance when `done` resolves.
 * @param confirmed `?confirm=` of the call
 * @param expected versions, one of which the table must still have
 * @throws AppError 404, 412, 422 with every problem, 409 DUPLICATE_RESOURCE, DESTRUCTIVE_CHANGE or CONFLICT
 */
export function changeTable(
  deps: ChangeDeps,
  id: string,
  body: Json,
  confirmed: string | undefined,
  expected?: Expected,
): Promise<Started> {
  const planner = atVersion(deps, id, expected, (definitions) => planChange(deps, definitions, id, body));
  return startChange(deps, planner, confirmed);
}

/** Deletes a table; its records are kept for `undo`. @throws AppError 404, 409, 412 */
export function deleteTable(
  deps: ChangeDeps,
  id: string,
  confirmed: string | undefined,
  expected?: Expected,
): Promise<Started> {
  const planner = atVersion(deps, id, expected, (definitions) => planRemoval(deps, definitions, id));
  return startChange(deps, planner, confirmed);
}

/** A plan for a table that is as the client knows it; asked again under the lock, so that of two at once one passes. */
function atVersion(
  { catalogStore, systemTablePrefix }: ChangeDeps,
  id: string,
  expected: Expected,
  plan: (definitions: readonly TableDefinition[]) => Plan,
): Planner {
  if (expected === undefined) return plan;
  return async (definitions) => {
    const version = await catalogStore.versionOf(id);
    if (version !== undefined && !expected.includes(version))
      throw notAtVersion({ name: systemTableNames(systemTablePrefix).tables }, expected);
    return plan(definitions);
  };
}

/** Undoes the last change of a table that took something away. @throws AppError 404, 409 */
export async function undoChange(deps: ChangeDeps, id: string): Promise<Started> {
  const since = new Date(deps.clock.now().getTime() - KEPT_MS);
  for (;;) {
    const change = await deps.changes.lastUndoable(id, since);
    if (change === undefined) throw await nothingToUndo(deps, id);
    const planner = (definitions: readonly TableDefinition[]) => planUndo(deps, definitions, change);
    const definitions = await deps.catalogStore.load();
    if (planner(definitions).steps.length > 0) return startChange(deps, planner, undefined);
    await deps.changes.pass(change.id);
    const kept = settingsLeftAlone(change, definitions);
    if (kept.length > 0) throw leftAlone(kept);
    // All of it was changed again since, by hand.
  }
}

/** Going on without a word would bring back what somebody removed before, and does not expect to see again. */
function leftAlone(settings: readonly string[]): AppError {
  return new AppError(
    "CONFLICT",
    `The last change that was confirmed is one of ${settings.join(", ")}, which undo leaves as it is; set it by ` +
      "hand. Called again, undo goes on to the change before.",
  );
}

async function nothingToUndo(deps: ChangeDeps, id: string): Promise<AppError> {
  const exists = (await deps.catalogStore.load()).some((each) => each.id === id);
  if (!exists)
    return new AppError(
      "NOT_FOUND",
      "There is no such table, and none that was deleted in the last 30 days.",
    );
  return new AppError(
    "CONFLICT",
    "No change of this table in the last 30 days took anything away that was not changed again since.",
  );
}

/** Removes for good what is no longer kept, a change at a time, at most once an hour. */
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
      await sweep(deps, change);
      await deps.changes.forget(change.id);
    }
  };
}

/** Only what this very change took out of use: anything else belongs to another change, and is kept as long as that. */
async function sweep(deps: ChangeDeps, { before, after, removed }: Change): Promise<void> {
  for (const table of before) {
    const { id, storage } = table;
    // Other programs may still use what an adopted table no longer shows. Notes are for an undo alone.
    if (storage.adopted === true) {
      const later = after.find((each) => each.id === id);
      if (later !== undefined)
        await deps.data.unset(storage.collection, notesOf({ before: table, after: later }));
      continue;
    }
    // As they are at this moment: sweeping what came before may have taken long.
    const definitions = await deps.catalogStore.load();
    const current = definitions.find((each) => each.id === id);
    // Another table may have adopted the collection since.
    const isOthers = definitions.some(
      (each) => each.id !== id && each.storage.collection === storage.collection,
    );
    if (removed.includes(id)) {
      if (current !== undefined) continue;
      await deps.data.forgetSequence(id);
      await deps.journalStore.forgetTable(id);
      if (!isOthers) await deps.data.dropCollection(storage.collection);
      continue;
    }
    if (isOthers) continue;
    const kept = [after.find((each) => each.id === id), current].flatMap((table) =>
      Object.values(table?.storage.fields ?? {}),
    );
    const taken = Object.values(storage.fields).filter((field) => !kept.includes(field));
    const grams = new Set([...taken.map((field) => gramField({ field })), ...gramsIn(table)]);
    for (const field of gramsIn(current)) grams.delete(field);
    await deps.data.unset(storage.collection, [...taken, ...grams]);
    // Nothing knows these fields from here on: what is made a secret later looks for its former values in the others.
    await deps.journalStore.forgetValues(id, taken);
  }
}

/** Earlier versions left them where they were when a column was no longer searchable. */
function gramsIn(table: TableDefinition | undefined): string[] {
  const { columns = [], storage } = table ?? {};
  return gramFieldsOf(
    columns.flatMap(({ id, searchable }) => {
      const field = storage?.fields[id];
      return field === undefined ? [] : [{ field, searchable }];
    }),
  );
}
