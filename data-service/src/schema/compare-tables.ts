// In what the tables of a schema file differ from the tables that there are, and what it would cost to make them so. Changes
// nothing.
import { AppError } from "@portico/shared/app-error";
import { isObject } from "@portico/shared/json";
import { ObjectId } from "bson";
import { buildCatalog } from "../catalog/build-catalog.js";
import { type Catalog, ID_TYPES } from "../catalog/catalog.js";
import type { Step } from "../catalog/changes.js";
import type { TableDefinition } from "../catalog/definition.js";
import { looksRenamed } from "../catalog/risks.js";
import { type FileTable, matchTable } from "../catalog/schema-file.js";
import type { Rule } from "../permission/rule.js";
import { requireAllowed } from "./ask-data.js";
import { costsOf, followedRules } from "./ask-rules.js";
import type { ChangeDeps } from "./change-deps.js";
import { requireCollection, withOwnCollection } from "./create-table.js";
import { type ChangePlan, changedDefinitions, planChange, requireOwnCollection } from "./plan-change.js";
import { planToFile } from "./plan-to-file.js";

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
  deps: Pick<ChangeDeps, "systemTablePrefix">,
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
export function renameText(from: string, to: string): string {
  return stepText({ what: "table.set", where: "name", from, to });
}

/** A table by its id, the name it has, and the one it gets. */
export interface Rename extends Pick<TableDefinition, "id" | "name"> {
  readonly from: string;
}

/**
 * Tables of the file that get another name, in an order in which each name is free by then. They come first, because other
 * tables of the file may refer to these names. A table that wants a name which does not become free is left out: its own
 * change is refused then.
 */
export function renamesIn(
  tables: readonly FileTable[],
  stored: readonly TableDefinition[],
): readonly Rename[] {
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
      problems: refusal?.violations ?? [],
      confirmable,
      looksRenamed: from !== undefined && to !== undefined && looksRenamed({ before: from, after: to }),
      plan,
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const problems = error.violations;
    return { name, changes: first, problems, confirmable: false, looksRenamed: false, plan: undefined };
  }
}

/** Names a step of a plan, for whoever reads what is about to happen. */
export function stepText({ what, where, from, to }: Omit<Step, "risks">): string {
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
