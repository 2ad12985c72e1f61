// Makes roles and rules what a schema file says of them, as a root admin would by POST, PATCH and DELETE.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import { type Catalog, type Table, tableById } from "../catalog/catalog.js";
import type { Stored } from "../catalog/stored.js";
import { systemTableNames } from "../catalog/system-tables.js";
import type { GoingRules } from "../mongo/going-rules.js";
import type { Lock } from "../mongo/lock.js";
import type { RuleStore } from "../mongo/rule-store.js";
import { type FileAccess, type FileRule, NO_ACCESS } from "../permission/access-file.js";
import { accessSteps } from "../permission/access-steps.js";
import {
  type AccessChange,
  type AccessToChange,
  compareAccess,
  hasSteps,
  holdersIn,
  isRedescribed,
  openedBy,
  type RuleEdit,
  stepsOf,
  whoseName,
} from "../permission/compare-access.js";
import { accessByName, type RolePresetContext, ruleById, rulesByName } from "../permission/role-presets.js";
import type { DescribedRule, StoredAccess, StoredRole } from "../permission/rule.js";
import { SERVICE } from "../principal.js";
import { alternativesFor, openWrite, PLAIN } from "../records/body/bind-body.js";
import { alone } from "../records/body/violations.js";
import { remove } from "../records/delete/remove.js";
import { findTable } from "../records/find-table.js";
import { list } from "../records/read/list.js";
import { type RecordDeps, withoutMaxLimit } from "../records/record-deps.js";
import { create } from "../records/write/create.js";
import { update } from "../records/write/update.js";
import { type Comparison, type FileDifference, followingAll } from "./compare-tables.js";
import { areRulesFollowed, rulesFollowed } from "./rule-change.js";

export interface AccessDeps extends RecordDeps {
  readonly rules: Pick<RuleStore, "described" | "switchedOff" | "offByChanges">;
  readonly systemTablePrefix: string;
  /** Instances that apply files at the same time must not make the same rules. */
  readonly accessLock: Lock;
  readonly goingRules: GoingRules;
}

/** All roles with their rules. */
async function storedAccess(deps: AccessDeps): Promise<StoredAccess> {
  const [roles, rules, off] = await Promise.all([
    storedRoles(deps),
    deps.rules.described(),
    deps.rules.switchedOff(),
  ]);
  return { roles, rules, off };
}

export async function storedRoles(deps: AccessDeps): Promise<StoredRole[]> {
  const { roles } = systemTableNames(deps.systemTablePrefix);
  const parameters = { ...PLAIN, fields: "id,name,description", sort: "id", limit: 0 };
  const { records } = await list(withoutMaxLimit(deps), { principal: SERVICE, table: roles, parameters });
  const found: StoredRole[] = [];
  for await (const some of records) found.push(...some.flatMap(toRole));
  return found;
}

function toRole(json: Json): StoredRole[] {
  if (!isObject(json)) return [];
  const { id, name, description } = json;
  return [
    {
      id: String(id),
      name: String(name),
      description: typeof description === "string" ? description : null,
    },
  ];
}

/** All roles with their rules, as a file says them. */
export async function pulledAccess(deps: AccessDeps): Promise<StoredAccess> {
  const access = await storedAccess(deps);
  const catalog = await deps.catalogs.get();
  return {
    ...access,
    rules: rulesByName(access.rules, { ...roleContext(deps, catalog), roles: access.roles }),
  };
}

function roleContext({ systemTablePrefix }: AccessDeps, catalog: Catalog): RolePresetContext {
  return { catalog, rolesTable: systemTableNames(systemTablePrefix).roles };
}

/** Roles are compared by their names. @param catalog with the tables as the rules call them */
function compareByName(
  deps: AccessDeps,
  access: FileAccess,
  stored: AccessToChange,
  catalog: Catalog,
): AccessChange[] {
  const context = { ...roleContext(deps, catalog), roles: stored.roles };
  const [rules, going] = [rulesByName(stored.rules, context), rulesByName(stored.going, context)];
  return compareAccess(accessByName(access, context), { ...stored, rules, going }, deps.clock.now());
}

/** What a file is going to do to roles and rules. */
export interface AccessComparison {
  readonly differences: readonly FileDifference[];
  /**
   * Ids of rules that the file's own tables are going to switch off, or have when it was interrupted, of those who have the rules
   * of the file.
   */
  readonly going: ReadonlySet<string>;
}

/** Compares a file with what is there, as it will be once the tables are as the file says; changes nothing. */
export async function compareAccessThen(
  deps: AccessDeps,
  access: FileAccess,
  { moves, after }: Pick<Comparison, "moves" | "after">,
): Promise<AccessComparison> {
  const { roles, rules, off } = await storedAccess(deps);
  const left = (await notedGoing(deps)).off;
  const followed = followingAll(deps, rules, moves);
  const on = new Set(followed.map(({ id }) => id));
  const switchedOff = rules.filter(({ id }) => !on.has(id));
  const isInFile = holdersIn(access, roles);
  const byTheFile = [...switchedOff, ...off.filter(({ id }) => left.has(id))];
  const going = byTheFile.filter(({ roleId }) => isInFile(roleId));
  const goingIds = new Set(going.map(({ id }) => id));
  const offThen = [...off, ...switchedOff].filter(({ id }) => !goingIds.has(id));
  const renamed = (rule: DescribedRule) => ({ ...rule, table: nameAfter(rule.table, moves) });
  const stored = { roles, rules: followed, off: offThen.map(renamed), going: going.map(renamed) };
  const ids = idsOf(roles, access);
  const differences = await Promise.all(
    compareByName(deps, access, stored, after).map(async (change) => {
      const problems = await problemsOf(deps, after, change, ids);
      const risks = problems.length > 0 ? [] : openedBy(change, access, stored).map(opened);
      return differenceOf(change, problems, risks);
    }),
  );
  return { differences, going: goingIds };
}

/**
 * What files that were interrupted have noted of rules that their tables switch off.
 * @returns `off`: those that they have; `obsolete`: those of which they have not, or that somebody has written since
 */
export async function notedGoing({ goingRules, rules }: Pick<AccessDeps, "goingRules" | "rules">): Promise<{
  readonly off: ReadonlySet<string>;
  readonly obsolete: readonly string[];
}> {
  const noted = [...(await goingRules.load())];
  const byChanges = noted.length === 0 ? new Set<string>() : await rules.offByChanges();
  return {
    off: new Set(noted.filter((id) => byChanges.has(id))),
    obsolete: noted.filter((id) => !byChanges.has(id)),
  };
}

/** @returns the name that a table of this name has after several changes; its own if it is gone by then */
function nameAfter(name: string, moves: Comparison["moves"]): string {
  return moves.reduce((now, { before, after }) => {
    const id = before.tables.get(now)?.id;
    return (id === undefined ? undefined : tableById(after, id)?.name) ?? now;
  }, name);
}

/** Stands for the id of a role that the file is going to make. */
const NEW_ROLE = "000000000000000000000000";

/** @returns the ids of roles by their names, those of the file as well */
function idsOf(
  stored: readonly StoredRole[],
  { roles }: FileAccess = NO_ACCESS,
): ReadonlyMap<string, string> {
  return new Map([
    ...roles.map(({ name }) => [name, NEW_ROLE] as const),
    ...stored.map(({ id, name }) => [name, id] as const),
  ]);
}

function opened(table: string): string {
  return `the last rule to read "${table}" goes, so those to update and delete its records reach all of them`;
}

/** @param risks what is done only if it is confirmed */
function differenceOf(
  change: AccessChange,
  problems: readonly string[] = [],
  risks: readonly string[] = [],
): FileDifference {
  const { role } = change;
  return {
    name: whoseName(role),
    changes: stepsOf(change),
    problems: [...problems, ...risks],
    confirmable: problems.length === 0 && risks.length > 0,
    looksRenamed: false,
  };
}

/** What a POST of the role and of its rules would refuse, each with its place in the file. */
async function problemsOf(
  deps: AccessDeps,
  catalog: Catalog,
  { role, make, edit }: AccessChange,
  ids: ReadonlyMap<string, string>,
): Promise<string[]> {
  const names = systemTableNames(deps.systemTablePrefix);
  const ofRole = role === undefined ? [] : await refusalsOf(deps, catalog, names.roles, role);
  const ofRules = await Promise.all(
    [...make, ...edit.map(({ to }) => to)].map(({ path, json: said }) => {
      const { json, problems } = ruleById(said, ids, roleContext(deps, catalog));
      if (problems.length > 0) return problems.map((problem) => `${path}.${problem}`);
      // Whose it is stands around it in the file.
      return refusalsOf(deps, catalog, names.permissions, { path, json: { role: null, ...json } });
    }),
  );
  return [...ofRole, ...ofRules.flat()];
}

async function refusalsOf(
  deps: AccessDeps,
  catalog: Catalog,
  tableName: string,
  { path, json }: { readonly path: string; readonly json: JsonObject },
): Promise<string[]> {
  const [rights, table] = [await deps.rights(SERVICE), findTable(catalog, tableName)];
  try {
    const context = openWrite(deps, { rights, catalog, table, mode: "create", parameters: PLAIN });
    alternativesFor(context, json);
    const isComing = (_target: Table, id: Stored): boolean => String(id) === NEW_ROLE;
    await context.hooks.beforeCreate(catalog, [json], { pathOf: alone, isComing });
    return [];
  } catch (error) {
    if (error instanceof AppError) return error.violations.map((problem) => `${path}.${problem}`);
    throw error;
  }
}

/**
 * Makes what is missing, changes what differs and removes what is too much, in an order that opens nothing on the way; doing it
 * again changes nothing.
 * @param going as the comparison before the tables were changed
 * @returns what was done
 * @throws AppError the refusal of a rule that fits the tables no more; an instance that starts again goes on
 */
export async function applyAccess(
  deps: AccessDeps,
  access: FileAccess,
  going: ReadonlySet<string> = new Set(),
): Promise<FileDifference[]> {
  const compare = async () => {
    const stored = await storedAccess(deps);
    const gone = stored.off.filter(({ id }) => going.has(id));
    return compareByName(deps, access, { ...stored, going: gone }, await deps.catalogs.get());
  };
  if ((await compare()).length === 0) return [];
  for (;;) {
    // The tables may be the work of another instance, which this one has not heard of yet, nor the rules. It may take longer
    // than others wait for the lock.
    await rulesFollowed(deps);
    const done = await deps.accessLock(async () =>
      (await areRulesFollowed(deps)) ? makeAll(deps, compare) : undefined,
    );
    if (done !== undefined) return done;
  }
}

/** @returns what was done; nothing where another instance has just made all of it */
async function makeAll(
  deps: AccessDeps,
  compare: () => Promise<readonly AccessChange[]>,
): Promise<FileDifference[]> {
  const done: AccessChange[] = [];
  for (;;) {
    const changes = await compare();
    const gone = await makeAccess(deps, changes);
    done.push(...changes.map((each) => ({ ...each, edit: each.edit.filter((edit) => !gone.has(edit)) })));
    if (gone.size === 0) return done.filter(hasSteps).map((change) => differenceOf(change));
  }
}

/**
 * One by one: a list that is interrupted halfway would be taken back, also after another start has gone on with it.
 * @returns edits of rules that somebody else has removed meanwhile
 */
async function makeAccess(
  deps: AccessDeps,
  changes: readonly AccessChange[],
): Promise<ReadonlySet<RuleEdit>> {
  const { permissions } = systemTableNames(deps.systemTablePrefix);
  const call = { principal: SERVICE, table: permissions, parameters: PLAIN };
  // All of them first: a rule may set a role that another part of the file has.
  for (const change of changes) await ensureRole(deps, change);
  const ids = idsOf(await storedRoles(deps));
  const context = roleContext(deps, await deps.catalogs.get());
  const bodyOf = ({ path, json }: FileRule): JsonObject => {
    const body = ruleById(json, ids, context);
    const [problem] = body.problems;
    if (problem !== undefined) throw justRemoved(`${path}.${problem}`);
    return body.json;
  };
  const gone = new Set<RuleEdit>();
  for (const step of accessSteps(changes)) {
    if (step.kind === "make") {
      const role = step.role === undefined ? null : roleNamed(step.role.name, ids);
      await create(deps, { ...call, body: { ...bodyOf(step.rule), role } });
    } else if (step.kind === "edit") {
      const { from, to } = step.edit;
      const body = { ...WITHOUT_CONDITIONS, ...bodyOf(to) };
      if (!(await isThere(update(deps, { ...call, id: from.id, body })))) gone.add(step.edit);
    } else await isThere(remove(deps, { principal: SERVICE, table: permissions, id: step.rule.id }));
  }
  return gone;
}

/** @returns whether the record of a write was there: somebody else may have removed it meanwhile */
async function isThere(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === "NOT_FOUND") return false;
    throw error;
  }
}

/** What a rule has that says no more than its table and action. */
const WITHOUT_CONDITIONS = { fields: null, filter: null, presets: null, check: null, description: null };

/** Makes it, or describes it as the file does. */
async function ensureRole(deps: AccessDeps, { role, stored }: AccessChange): Promise<void> {
  if (role === undefined) return;
  const call = {
    principal: SERVICE,
    table: systemTableNames(deps.systemTablePrefix).roles,
    parameters: PLAIN,
  };
  if (stored === undefined) await create(deps, { ...call, body: role.json });
  else if (isRedescribed({ role, stored }))
    await update(deps, { ...call, id: stored.id, body: { description: role.json.description ?? null } });
}

/** @throws AppError 409 where somebody has removed the role meanwhile, or given it another name */
function roleNamed(name: string, ids: ReadonlyMap<string, string>): string {
  const id = ids.get(name);
  if (id === undefined) throw justRemoved(`there is no role "${name}"`);
  return id;
}

function justRemoved(problem: string): AppError {
  return new AppError("CONFLICT", `${problem} any more; it was removed or renamed just now, so try again.`);
}
