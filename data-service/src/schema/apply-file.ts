// Makes the tables what those of a schema file say: compares everything first, and changes nothing if something would be lost.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json } from "@portico/shared/json";
import { ObjectId } from "bson";
import { buildCatalog } from "../catalog/build-catalog.js";
import { type Catalog, ID_TYPES } from "../catalog/catalog.js";
import { removesMember, type Step } from "../catalog/changes.js";
import type { TableDefinition } from "../catalog/definition.js";
import { looksRenamed } from "../catalog/risks.js";
import { type FileTable, matchTable } from "../catalog/schema-file.js";
import type { Rule } from "../permission/rule.js";
import { until } from "../until.js";
import { requireAllowed } from "./ask-data.js";
import { costsOf, followedRules } from "./ask-rules.js";
import type { ChangeDeps } from "./change-deps.js";
import {
  createTable,
  requireCollection,
  type SchemaDeps,
  unlocked,
  withOwnCollection,
} from "./create-table.js";
import { type ChangePlan, changedDefinitions, planChange, requireOwnCollection } from "./plan-change.js";
import { planToFile } from "./plan-to-file.js";
import { type Planner, type Started, startChange } from "./run-change.js";

/** How long to wait for a table that another instance is making. */
const PATIENCE_MS = 15_000;
const LOOK_MS = 50;
/** How long to wait for a change by another instance: it may be applying the same file to many records. */
const CHANGE_PATIENCE_MS = 5 * 60_000;

/** What has to be done about one table, or about who may do what. */
export interface FileDifference {
  /** Of the table; of whom it is about. */
  readonly name: string;
  /** `create`, or the places that change. */
  readonly changes: readonly string[];
  /** Why it is not done without asking: what would be lost, or what is wrong with the definition. */
  readonly problems: readonly string[];
  /** A confirmation would let it pass. */
  readonly confirmable: boolean;
  /** A member would go whose place another one seems to take under a new name. */
  readonly looksRenamed: boolean;
}

/** What a file asks of the tables. */
export interface Comparison {
  /** In the order of the file. */
  readonly differences: FileDifference[];
  /** The file's tables in an order in which they can be changed; those that never can be are left out. */
  readonly order: readonly FileTable[];
  /** The tables before and after each of the changes, which rules follow. */
  readonly moves: readonly ChangePlan["catalogs"][];
  /** The tables as they will be. */
  readonly after: Catalog;
}

/** Compares a file with the tables; changes nothing. */
export async function compareTables(deps: ChangeDeps, tables: readonly FileTable[]): Promise<Comparison> {
  const stored = await deps.catalogStore.load();
  const renamed = renamesIn(tables, stored).reduce(
    (definitions, rename) => withRename(deps, definitions, rename),
    stored,
  );
  const catalog = buildCatalog(0, renamed, deps.systemTables);
  const isMissing = (table: FileTable): boolean => matchTable(table, tables, stored) === undefined;
  const fresh = await Promise.all(
    tables.filter(isMissing).map((table) => withOwnCollection(deps, catalog, stubOf(table))),
  );
  const formerNames = new Map(stored.map(({ id, name }) => [id, name]));
  let definitions: readonly TableDefinition[] = [...renamed, ...fresh];
  const before = buildCatalog(0, stored, deps.systemTables);
  const moves = [{ before, after: catalog }];
  let rules = followingAll(deps, await deps.rules.enabled(), moves);
  const found = new Map<FileTable, FileDifference>();
  const compare = async (table: FileTable): Promise<boolean> => {
    const existing = matchTable(table, tables, definitions);
    if (existing === undefined) throw new Error(`no table "${table.name}"`);
    const former = formerNames.get(existing.id);
    const first =
      former === undefined ? [CREATED] : former === existing.name ? [] : [renameText(former, existing.name)];
    const asked = withRules(deps, rules);
    const { plan, ...difference } = await differenceOf(asked, definitions, existing, table, first);
    found.set(table, difference);
    if (plan === undefined || plan.steps.length === 0) return plan !== undefined;
    // The next table is compared with what this one will be.
    definitions = replaced(definitions, plan);
    moves.push(plan.catalogs);
    rules = followedRules(deps, rules, plan.catalogs);
    return true;
  };
  const order = await untilNoneMoves(tables, compare);
  const differs = ({ changes, problems }: FileDifference): boolean => changes.length + problems.length > 0;
  const differences = tables.flatMap((table) => found.get(table) ?? []).filter(differs);
  return { differences, order, moves, after: buildCatalog(0, definitions, deps.systemTables) };
}

/**
 * Tries each table, and those that are refused again after the others: one may want a name that another gives up.
 * @returns those that were possible, in that order
 */
async function untilNoneMoves<Each>(
  all: readonly Each[],
  isPossible: (each: Each) => Promise<boolean>,
): Promise<Each[]> {
  const possible: Each[] = [];
  let waiting = all;
  for (;;) {
    const refused: Each[] = [];
    for (const each of waiting) {
      const list = (await isPossible(each)) ? possible : refused;
      list.push(each);
    }
    if (refused.length === 0 || refused.length === waiting.length) return possible;
    waiting = refused;
  }
}

/** The rules after several changes, without those that these switch off. */
export function followingAll<Each extends Rule>(
  deps: Pick<ChangeDeps, "systemTablePrefix" | "maxDepth">,
  rules: readonly Each[],
  moves: Comparison["moves"],
): readonly Each[] {
  return moves.reduce((now, catalogs) => followedRules(deps, now, catalogs), rules);
}

/** The rules as they will be when a table's turn comes, whatever the names in them are by then. */
function withRules(deps: ChangeDeps, rules: readonly Rule[]): ChangeDeps {
  return { ...deps, rules: { ...deps.rules, enabled: async () => rules } };
}

/** The change that makes a table. */
export const CREATED = "create";

/** Written like the step of a plan. */
function renameText(from: string, to: string): string {
  return stepText({ what: "table.set", where: "name", from, to });
}

/** A table by its id, the name it has, and the one it gets. */
interface Rename extends Pick<TableDefinition, "id" | "name"> {
  readonly from: string;
}

/**
 * Tables of the file that get another name, in an order in which each name is free by then. They come first, because other
 * tables of the file may refer to these names. A table that wants a name which does not become free is left out: its own
 * change is refused then.
 */
function renamesIn(tables: readonly FileTable[], stored: readonly TableDefinition[]): readonly Rename[] {
  const names = new Map(stored.map(({ id, name }) => [id, name]));
  const wanted = tables.flatMap((table) => {
    const existing = matchTable(table, tables, stored);
    return existing === undefined || existing.name === table.name
      ? []
      : [{ id: existing.id, name: table.name, from: existing.name }];
  });
  const renames: Rename[] = [];
  for (;;) {
    const taken = new Set(names.values());
    const next = wanted.find((each) => !renames.includes(each) && !taken.has(each.name));
    if (next === undefined) return renames;
    names.set(next.id, next.name);
    renames.push(next);
  }
}

/** The definitions with a table renamed; unchanged if that is refused, because comparing the table says why. */
function withRename(
  deps: ChangeDeps,
  definitions: TableDefinition[],
  { id, name }: Rename,
): TableDefinition[] {
  try {
    return replaced(definitions, planChange(deps, definitions, id, { name }));
  } catch (error) {
    if (error instanceof AppError) return definitions;
    throw error;
  }
}

async function differenceOf(
  deps: ChangeDeps,
  definitions: readonly TableDefinition[],
  existing: TableDefinition,
  table: FileTable,
  first: readonly string[],
): Promise<FileDifference & { plan: ChangePlan | undefined }> {
  const { name } = table;
  const isNew = first.includes(CREATED);
  try {
    const plan = await planToFile(deps, definitions, existing, table);
    if (isNew) {
      await requireCollection(deps, existing);
      requireOwnCollection(buildCatalog(0, definitions, deps.systemTables), existing);
    }
    const steps = isNew ? [] : plan.steps.map(stepText);
    const { from, to } = plan.own;
    // Documents that a new table adopts may stand against it.
    const hasRecords = !isNew || existing.storage.adopted === true;
    const refusal = hasRecords ? await refusalOf(deps, plan) : undefined;
    const confirmable = refusal?.code === "DESTRUCTIVE_CHANGE" && refusal.details?.confirmHash !== null;
    return {
      name,
      changes: [...first, ...steps],
      problems: refusal === undefined ? [] : [refusal.messages].flat(),
      confirmable,
      looksRenamed: from !== undefined && to !== undefined && looksRenamed({ before: from, after: to }),
      plan,
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const problems = [error.messages].flat();
    return { name, changes: first, problems, confirmable: false, looksRenamed: false, plan: undefined };
  }
}

function stepText({ what, where, from, to }: Omit<Step, "risks">): string {
  if (where === "name") return `${what} ${where} ${JSON.stringify(from)} -> ${JSON.stringify(to)}`;
  const [former, later] = [from, to].map((member) =>
    typeof member === "object" && member !== null && "name" in member && "type" in member
      ? member
      : undefined,
  );
  if (former === undefined || later === undefined) return `${what} ${where}`;
  const retyped = former.type === later.type ? "" : ` ${former.type} -> ${later.type}`;
  const renamed = former.name === later.name ? "" : ` (renamed to "${later.name}")`;
  return `${what} ${where}${retyped}${renamed}`;
}

async function refusalOf(deps: ChangeDeps, plan: ChangePlan): Promise<AppError | undefined> {
  try {
    requireAllowed(plan, await costsOf(deps, plan), undefined);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function replaced(definitions: readonly TableDefinition[], plan: ChangePlan): TableDefinition[] {
  const after = new Map(
    changedDefinitions(plan).flatMap(({ to }) => (to === undefined ? [] : [[to.id, to] as const])),
  );
  return definitions.map((each) => after.get(each.id) ?? each);
}

/** A new table before it has any members: relations of other tables can already lead to it. */
export function stubOf({ name, json }: FileTable): TableDefinition {
  // It is made with the right type of ids, which existing documents already have.
  const idType = ID_TYPES.find((each) => each === json.idType) ?? "objectId";
  return {
    id: new ObjectId().toHexString(),
    name,
    description: null,
    singleton: false,
    idType,
    columns: [],
    relations: [],
    uniques: [],
    indexes: [],
    storage: stubStorage(name, json),
  };
}

function stubStorage(name: string, { storage }: FileTable["json"]): TableDefinition["storage"] {
  if (!isObject(storage) || typeof storage.collection !== "string") return { collection: name, fields: {} };
  const { collection, createdAt, updatedAt } = storage;
  const times = Object.entries({ createdAt, updatedAt });
  const given = times.flatMap(([time, field]) =>
    typeof field === "string" && field !== time ? [[time, field]] : [],
  );
  return { collection, adopted: true, fields: Object.fromEntries(given) };
}

/** Is one of the differences not to be made? @param confirmed also those that lose data may be */
export function isStopped(differences: readonly FileDifference[], confirmed: boolean): boolean {
  return differences.some(({ problems, confirmable }) => problems.length > 0 && !(confirmed && confirmable));
}

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
