// Changes of a table as a request asks for them: change, delete, undo.
import { AppError } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import { systemTableNames } from "../catalog/system-tables.js";
import { type Expected, notAtVersion } from "../records/version.js";
import type { ChangeDeps } from "./change-deps.js";
import { planChange, planRemoval } from "./plan-change.js";
import { planUndo, settingsLeftAlone } from "./plan-undo.js";
import { type Planner, type Started, startChange } from "./run-change.js";

/** How long what a change took away is kept for an undo: 30 days. */
export const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** Changes made since then can be undone at that moment. */
export function keptSince(now: Date): Date {
  return new Date(now.getTime() - KEPT_MS);
}

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

/**
 * A plan for a table that is still as the client knows it. This is checked again under the lock, so that of two changes at
 * once only one passes.
 */
function atVersion(deps: ChangeDeps, id: string, expected: Expected, plan: Planner): Planner {
  if (expected === undefined) return plan;
  return async (definitions) => {
    await requireVersion(deps, id, expected);
    return plan(definitions);
  };
}

/** @returns whether there is such a table @throws AppError 412 where it has none of the versions */
async function requireVersion(
  deps: ChangeDeps,
  id: string,
  expected: NonNullable<Expected>,
): Promise<boolean> {
  const version = await deps.catalogStore.versionOf(id);
  if (version !== undefined && !expected.includes(version)) throw otherVersion(deps, expected);
  return version !== undefined;
}

function otherVersion({ systemTablePrefix }: ChangeDeps, expected: Expected): AppError {
  return notAtVersion({ name: systemTableNames(systemTablePrefix).tables }, expected);
}

/** Undoes the last change of a table that took something away. @throws AppError 404, 409, 412 */
export async function undoChange(deps: ChangeDeps, id: string, expected?: Expected): Promise<Started> {
  const since = keptSince(deps.clock.now());
  for (;;) {
    const isAsExpected = expected === undefined || (await requireVersion(deps, id, expected));
    const change = await deps.changes.lastUndoable(id, since);
    if (change === undefined) throw await nothingToUndo(deps, id);
    // One that is deleted has no version.
    if (!isAsExpected) throw otherVersion(deps, expected);
    const planner = atVersion(deps, id, expected, async (definitions) =>
      planUndo(deps, definitions, change, await deps.changes.madeOf(id)),
    );
    const definitions = await deps.catalogStore.load();
    if ((await planner(definitions)).steps.length > 0) return startChange(deps, planner, undefined);
    await deps.changes.pass(change.id);
    const kept = settingsLeftAlone(change, definitions);
    if (kept.length > 0) throw leftAlone(kept);
    // All of it has been changed again since, by hand.
  }
}

/** Going on silently would bring back something that somebody removed earlier and does not expect to see again. */
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
