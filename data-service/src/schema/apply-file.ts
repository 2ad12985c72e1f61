// Makes the tables what those of a schema file say, after a comparison in which nothing stops it.
import { AppError } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import { removesMember } from "../catalog/changes.js";
import type { TableDefinition } from "../catalog/definition.js";
import { type FileTable, matchTable } from "../catalog/schema-file.js";
import { until } from "../until.js";
import type { ChangeDeps } from "./change-deps.js";
import {
  type Comparison,
  CREATED,
  type FileDifference,
  type Rename,
  renamesIn,
  renameText,
  stepText,
} from "./compare-tables.js";
import { createTable, type SchemaDeps, unlocked } from "./create-table.js";
import { type ChangePlan, planChange } from "./plan-change.js";
import { planToFile } from "./plan-to-file.js";
import { type Planner, type Started, startChange } from "./run-change.js";

/** How long to wait for a table that another instance is making. */
const PATIENCE_MS = 15_000;
const LOOK_MS = 50;
/** How long to wait for a change by another instance: it may be applying the same file to many records. */
const CHANGE_PATIENCE_MS = 5 * 60_000;

/**
 * Makes what a comparison found, in which nothing stops it; doing it again changes nothing. New tables are first made without
 * members, so that relations can lead anywhere.
 * @param confirmed also makes changes that lose data
 * @returns what was done here: other instances may be applying the same file
 * @throws AppError 409 if the file would remove by now what it has not found before
 */
export async function makeTables(
  deps: ChangeDeps & SchemaDeps,
  tables: readonly FileTable[],
  { differences, order }: Comparison,
  confirmed: boolean,
): Promise<FileDifference[]> {
  const done = new Map<string, string[]>(tables.map(({ name }) => [name, []]));
  const note = (name: string, steps: readonly string[]) => done.get(name)?.push(...steps);
  for (const each of renamesIn(tables, await deps.catalogStore.load()))
    if (await rename(deps, each)) note(each.name, [renameText(each.from, each.name)]);
  for (const table of tables) if (await ensureThere(deps, tables, table)) note(table.name, [CREATED]);
  for (const table of order) {
    const foreseen = differences.find(({ name }) => name === table.name)?.changes ?? [];
    const how = { confirmed, patienceMs: CHANGE_PATIENCE_MS, foreseen };
    const steps = await changeToFile(deps, tables, table, how);
    // That a table was created says it all.
    if (done.get(table.name)?.includes(CREATED) !== true) note(table.name, steps);
  }
  const of = ([name, changes]: [string, string[]]): FileDifference[] =>
    changes.length === 0 ? [] : [{ name, changes, problems: [], confirmable: false, looksRenamed: false }];
  return [...done].flatMap(of);
}

/** @returns whether it was done here */
async function rename(deps: ChangeDeps, { id, name }: Rename): Promise<boolean> {
  let isDone = false;
  const planner: Planner = (definitions) => {
    const plan = planChange(deps, definitions, id, { name });
    isDone = plan.steps.length > 0;
    return plan;
  };
  await (await startChange(deps, planner, undefined, CHANGE_PATIENCE_MS)).done;
  return isDone;
}

/** @throws AppError 409 */
export async function existingOf(
  deps: ChangeDeps,
  tables: readonly FileTable[],
  table: FileTable,
): Promise<TableDefinition> {
  return matchedIn(await deps.catalogStore.load(), tables, table);
}

function matchedIn(
  definitions: readonly TableDefinition[],
  tables: readonly FileTable[],
  table: FileTable,
): TableDefinition {
  const existing = matchTable(table, tables, definitions);
  if (existing === undefined)
    throw new AppError("CONFLICT", `The table "${table.name}" was removed meanwhile.`);
  return existing;
}

/**
 * Another instance may be applying the same file: a table that it is making is waited for.
 * @returns whether it was made here
 */
async function ensureThere(
  deps: ChangeDeps & SchemaDeps,
  tables: readonly FileTable[],
  table: FileTable,
): Promise<boolean> {
  const isMissing = async () => matchTable(table, tables, await deps.catalogStore.load()) === undefined;
  // Before the name is reserved: an old reservation looks like one that was left behind.
  if (await isMissing()) await unlocked(deps, CHANGE_PATIENCE_MS);
  let refusal: AppError | undefined;
  const makeMissing = async (): Promise<"made" | "found" | false> => {
    if (!(await isMissing())) return "found";
    refusal = await createBare(deps, table);
    return refusal === undefined ? "made" : false;
  };
  const tooLate = () => {
    throw refusal;
  };
  return (await until(makeMissing, { patienceMs: PATIENCE_MS, everyMs: LOOK_MS, tooLate })) === "made";
}

/**
 * @param isHalf as in `createTable`; a file is applied again
 * @returns why not, if the name is taken or reserved
 */
export async function createBare(
  deps: ChangeDeps & SchemaDeps,
  { name, id, json }: FileTable,
  isHalf = false,
): Promise<AppError | undefined> {
  // A deleted table's id stays its own until it is swept: before, whatever has the id counts as deleted (see settle-catalog).
  const isFree = id !== undefined && !(await deps.changes.keepsTable(id));
  const stored = json.storage === undefined ? {} : { storage: json.storage };
  const bare: Json = { ...(isFree ? { id } : {}), name, idType: json.idType ?? null, ...stored };
  try {
    await createTable(deps, bare, { ownIds: true, isHalf });
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.code === "DUPLICATE_RESOURCE") return error;
    throw error;
  }
}

export interface ToFile {
  /** Also at a cost that can be confirmed. */
  readonly confirmed: boolean;
  /** As in `startChange`. */
  readonly patienceMs?: number;
  /** Only a table that nobody has changed since it was made. */
  readonly isNew?: boolean;
  /** Removes nothing beyond these steps. */
  readonly foreseen?: readonly string[];
}

/** @returns the steps that were taken here: none where another instance was faster */
export async function changeToFile(
  deps: ChangeDeps,
  tables: readonly FileTable[],
  table: FileTable,
  { confirmed, patienceMs, isNew = false, foreseen }: ToFile,
): Promise<readonly string[]> {
  let steps: readonly string[] = [];
  // By the definitions it is given: another instance may just have made members of the file, with ids.
  const planner: Planner = async (definitions) => {
    const existing = matchedIn(definitions, tables, table);
    if (isNew && (await deps.catalogStore.versionOf(existing.id)) !== 0)
      throw new AppError(
        "CONFLICT",
        `The new table "${table.name}" was changed by another request meanwhile.`,
      );
    const plan = await planToFile(deps, definitions, existing, table);
    if (foreseen !== undefined) requireForeseen(table, plan, foreseen);
    steps = plan.steps.map(stepText);
    return plan;
  };
  await confirming(confirmed, (hash) => startChange(deps, planner, hash, patienceMs));
  return steps;
}

/** What others have added since the file was compared would go again without a word. @throws AppError 409 */
function requireForeseen({ name }: FileTable, { steps }: ChangePlan, foreseen: readonly string[]): void {
  const removals = steps.filter(removesMember).map(stepText);
  const added = removals.filter((each) => !foreseen.includes(each));
  if (added.length > 0)
    throw new AppError(
      "CONFLICT",
      `The table "${name}" was changed while the file was applied, which would remove by now what was not there before ` +
        `(${added.join(", ")}); apply it again to go on.`,
    );
}

/** Makes a change to its end; if `confirmed`, even at a cost that can be confirmed. */
export async function confirming(
  confirmed: boolean,
  change: (hash: string | undefined) => Promise<Started>,
): Promise<void> {
  try {
    await (await change(undefined)).done;
  } catch (error) {
    const hash = error instanceof AppError ? error.details?.confirmHash : undefined;
    if (!confirmed || typeof hash !== "string") throw error;
    await (await change(hash)).done;
  }
}
