// Rules -> policies: what one caller may do with one table. Pure. Rules that no longer fit the table grant nothing.
import { AppError } from "@portico/shared/app-error";
import type { Json, JsonObject } from "@portico/shared/json";
import type { Catalog, Table } from "../catalog/catalog.js";
import { ALWAYS, type AuthorizedPredicate } from "../query/ast.js";
import { authorizePredicate } from "../query/authorize-read.js";
import { bindFilter } from "../query/bind-filter.js";
import { LIMITS } from "../query/limits.js";
import { disjunction } from "../query/logic.js";
import { type Members, membersOf } from "./field-rules.js";
import { readPresets } from "./presets.js";
import { type ReadPolicy, ReadView } from "./read-view.js";
import type { Rule } from "./rule.js";
import type { Variables } from "./variables.js";

/** What one rule grants on a table. */
export interface Grant {
  readonly rows: AuthorizedPredicate;
  readonly members: Members;
}

/** What one rule lets a caller write. */
export interface WriteGrant extends Grant {
  /** Empty for root, who needs none. */
  readonly ruleId: string;
  readonly presets: JsonObject;
  readonly check: AuthorizedPredicate;
}

export interface RuleContext {
  readonly catalog: Catalog;
  readonly variables: Variables;
}

/** Everything, for the rules themselves: they may use columns that their callers can't read. */
const UNRESTRICTED: ReadPolicy = {
  rows: ALWAYS,
  grants: [{ rows: ALWAYS, members: () => true }],
};

/** The policy that several rules make together: a row is visible when one of them matches it. */
export function readPolicy(grants: readonly Grant[]): ReadPolicy | undefined {
  if (grants.length === 0) return undefined;
  return { rows: disjunction(grants.map(({ rows }) => rows)), grants };
}

/** Compiles one rule. @throws AppError 400 naming what does not fit the table */
export function compileRule(rule: Rule, table: Table, context: RuleContext): WriteGrant {
  return {
    ruleId: rule.id,
    rows: predicateOf(rule.filter, table, context, "filter"),
    members: membersOf(rule.fields, table, rule.action),
    presets: presetsOf(rule.presets, table, context),
    check: predicateOf(rule.check, table, context, "check"),
  };
}

/** The result of compiling a stored rule. */
export interface Compiled {
  readonly grants: readonly WriteGrant[];
  /** Why it grants nothing. */
  readonly because?: string;
}

/** Compiles a stored rule, whose table may have changed since: one that no longer fits grants nothing. */
export function compileStored(rule: Rule, table: Table, context: RuleContext): Compiled {
  try {
    return { grants: [compileRule(rule, table, context)] };
  } catch (error) {
    if (error instanceof AppError) return { grants: [], because: error.message };
    throw error;
  }
}

function predicateOf(
  filter: Json | null,
  table: Table,
  { catalog, variables }: RuleContext,
  path: string,
): AuthorizedPredicate {
  if (filter === null) return ALWAYS;
  const view = new ReadView(catalog, () => UNRESTRICTED);
  return authorizePredicate(
    bindFilter(filter, table, { view, maxDepth: LIMITS.relations, fromText: false, variables }, path),
    view,
  );
}

function presetsOf(presets: Json | null, table: Table, context: RuleContext): JsonObject {
  if (presets === null) return {};
  const { values, problems } = readPresets(presets, table, context);
  if (problems.length > 0) throw new AppError("BAD_REQUEST", { message: problems });
  return values;
}
