// Does a permission rule fit the table that it is about? Pure.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import type { Catalog, Column, Relation, Table } from "../catalog/catalog.js";
import type { ColumnType } from "../catalog/column-types.js";
import { suggestion } from "../catalog/names.js";
import type { AuthorizedPredicate } from "../query/ast.js";
import { leavesIn, negatedLeavesIn } from "../query/leaves.js";
import { isBeyondRules, type ProtectedTables } from "./beyond-rules.js";
import { compileRule, type RuleContext } from "./compile-rules.js";
import { type StoredRule, textOf } from "./follow-names.js";
import { ACTIONS, type Action, type Rule } from "./rule.js";
import { type Variables, variablesFrom } from "./variables.js";

interface CheckContext {
  readonly catalog: Catalog;
  readonly protected: ProtectedTables;
}

/** What is needed to tell whether a stored rule still fits. */
export interface FitContext {
  /** Name of the users' table, whose columns are variables. */
  readonly users: string;
}

/**
 * Why a rule that was right when it was written grants nothing with these tables.
 * @returns an empty list when it does grant something, and for a table that does not exist
 */
export function misfits(rule: StoredRule, catalog: Catalog, { users }: FitContext): string[] {
  const [table, usersTable] = [catalog.tables.get(rule.table), catalog.tables.get(users)];
  if (table === undefined || usersTable === undefined) return [];
  const context: RuleContext = { catalog, variables: sampleVariables(usersTable) };
  return CONDITIONS.flatMap((member) =>
    compileProblem({ ...textOf(rule) }, rule.action, member, table, context),
  );
}

/** The members that can keep a rule from granting anything. */
const CONDITIONS = ["fields", "filter", "check", "presets"];

/** @param rule the record as it would be stored @returns every problem, each beginning with the member's name */
export function ruleProblems(rule: JsonObject, context: CheckContext): string[] {
  const { catalog } = context;
  const table = catalog.tables.get(String(rule.table));
  const users = catalog.tables.get(context.protected.users);
  const action = ACTIONS.find((each): each is Action => each === rule.action);
  // Missing members and wrong types have been reported by the check of the body.
  if (action === undefined || users === undefined || typeof rule.table !== "string") return [];
  if (table === undefined)
    return [`table: there is no table "${rule.table}"${suggestion(rule.table, catalog.tables.keys())}`];
  const full: RuleContext = { catalog, variables: sampleVariables(users) };
  // A rule that can never help anybody is a mistake.
  if (isBeyondRules(table, action, context.protected))
    return [`table: "${table.name}" is for root admins; no rule can let anybody else ${action} it`];
  return [
    ...shapeProblems(rule, action),
    ...CONDITIONS.flatMap((member) => compileProblem(rule, action, member, table, full)),
    ...rootAdminProblem(rule.presets, table, context.protected),
    ...checkProblems(rule, action, table, full),
  ];
}

/** One that is off does no harm, and to switch it on is to save it. */
function checkProblems(rule: JsonObject, action: Action, table: Table, context: RuleContext): string[] {
  if (rule.check === undefined || rule.check === null || rule.isEnabled === false) return [];
  try {
    const { check } = compileRule({ ...BARE, table: table.name, check: rule.check }, table, context);
    return checkedElsewhere(check, action, table);
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}

/**
 * Why a check can't see the record as it will be: links in other records are written after it is judged, and where those of
 * its own table lead on the way, its own count as they are stored. A new record is not there yet: what is asked for without it,
 * and not denied, is there with it as well.
 * @returns each beginning with its path
 */
export function checkedElsewhere(check: AuthorizedPredicate, action: Action, table: Table): string[] {
  return stepsIn(check)
    .filter(({ relation: { link } }) => link.on === "target")
    .flatMap(({ path, target, isDenied }) => {
      const where = ["check", ...path].join(".");
      if (path.length === 1)
        return `${where}: lies in the records of another table, which are written later; check there`;
      if (target.id !== table.id || (action === "create" && !isDenied)) return [];
      const found = action === "create" ? "is not found yet" : "is found as it was before";
      return `${where}: leads back to records of "${table.name}" by their own links, where the one that is written ${found}`;
    });
}

/** A relation that a predicate goes through. */
interface PredicateStep {
  readonly path: readonly string[];
  readonly relation: Relation;
  readonly target: Table;
  /** Does it stand in a negation, its own or that of a step before? */
  readonly isDenied: boolean;
}

/** @param before the step that leads to the records that the predicate is about */
function stepsIn(predicate: AuthorizedPredicate, before?: PredicateStep): PredicateStep[] {
  const denied = new Set(negatedLeavesIn(predicate));
  return leavesIn(predicate).flatMap((leaf) => {
    if (leaf.kind !== "related" && leaf.kind !== "exists") return [];
    const { relation, target } = leaf;
    const isDenied = before?.isDenied === true || denied.has(leaf);
    const step = { path: [...(before?.path ?? []), relation.name], relation, target, isDenied };
    return [step, ...(leaf.kind === "related" ? stepsIn(leaf.where, step) : [])];
  });
}

const BARE: Rule = {
  id: "",
  roleId: null,
  table: "",
  action: "read",
  filter: null,
  presets: null,
  check: null,
  fields: null,
};

/** Members that mean nothing for the action: a rule that seems to restrict and does not is worse than a refusal. */
function shapeProblems(rule: JsonObject, action: Action): string[] {
  const given = (member: string): boolean => rule[member] !== undefined && rule[member] !== null;
  const problems: string[] = [];
  if (action === "create" && given("filter"))
    problems.push("filter: there is no row yet when one is created; use check");
  if (action === "read" || action === "delete") {
    for (const member of ["presets", "check"])
      if (given(member)) problems.push(`${member}: does not apply to ${action}; it is for create and update`);
  }
  if (action === "delete" && given("fields")) problems.push("fields: a record is deleted as a whole");
  return problems;
}

function compileProblem(
  rule: JsonObject,
  action: Action,
  member: string,
  table: Table,
  context: RuleContext,
): readonly string[] {
  const value = rule[member];
  if (value === undefined || value === null) return [];
  try {
    compileRule({ ...BARE, action, table: table.name, [member]: value }, table, context);
    return [];
  } catch (error) {
    if (error instanceof AppError) return error.violations;
    throw error;
  }
}

function rootAdminProblem(presets: Json | undefined, table: Table, { users }: ProtectedTables): string[] {
  const isMaking = table.name === users && isObject(presets) && Object.hasOwn(presets, "isRootAdmin");
  return isMaking ? ["presets.isRootAdmin: no rule can make a root admin"] : [];
}

const OBJECT_ID = "65a00000000000000000000f";

/**
 * A value of each type, to see whether a variable can be compared with a column. Another type takes it only if it takes every
 * value of this one: the `float` is no whole number, the id has a letter, and none is likely to be a value of an enum.
 */
const SAMPLES: Partial<Record<ColumnType, Json>> = {
  string: "some text",
  text: "some text",
  boolean: true,
  int: 1,
  float: 1.5,
  bigint: "1234567890123456789",
  decimal: "1234567.5",
  date: "2026-01-01",
  datetime: "2026-01-01T00:00:00.000Z",
  uuid: "0190163d-8694-739b-aea5-966c26f8ad91",
  objectId: OBJECT_ID,
};

function sampleVariables(users: Table): Variables {
  return variablesFrom({ own: sampleFor, areSamples: true, roleId: OBJECT_ID, now: new Date(0) }, users);
}

/** Of an enum, a value that the other column has as well, if there is one. JSON may be anything, so nothing is said of it. */
function sampleFor({ type, values }: Column, compared: Column): Json {
  const common = values.find((each) => compared.values.includes(each)) ?? values[0] ?? null;
  if (type === "enum") return common;
  return type === "enumList" ? [common] : (SAMPLES[type] ?? null);
}
