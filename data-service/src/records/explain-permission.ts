// POST /svc_permission/explain, for root admins: why somebody may, or may not, do something.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json, type JsonObject, noObject } from "@portico/shared/json";
import {
  type Catalog,
  type Column,
  isGenerated,
  type Relation,
  type Table,
  targetOf,
} from "../catalog/catalog.js";
import { hexId } from "../catalog/hex-id.js";
import { checkedElsewhere } from "../permission/check-rule.js";
import type { Compiled, WriteGrant } from "../permission/compile-rules.js";
import type { Rights } from "../permission/rights.js";
import { ACTIONS, type Action, type Rule } from "../permission/rule.js";
import { linksOf } from "../permission/visible-tables.js";
import type { Principal } from "../principal.js";
import type { AuthorizedPredicate } from "../query/ast.js";
import { matchStages } from "../query/lower/condition.js";
import { Names } from "../query/lower/document.js";
import { stateCondition } from "./delete/kept.js";
import { findTable, parseId } from "./find-table.js";
import type { RecordDeps } from "./record-deps.js";

export interface ExplainPermissionDeps extends Pick<RecordDeps, "catalogs" | "rights" | "store"> {
  /** A user as a principal; undefined when there is none. */
  readonly principalOf: (userId: string) => Promise<Principal | undefined>;
  /** The name of the table of roles. */
  readonly roles: string;
}

const KEYS = ["user", "role", "table", "action", "id"];

interface Question {
  readonly who: { readonly user: string } | { readonly role: string | null };
  readonly table: string;
  readonly action: Action;
  readonly id: string | undefined;
}

/** @throws AppError 400 with every problem of the question, 404 for a user, role or table that does not exist */
export async function explainPermission(deps: ExplainPermissionDeps, body: Json): Promise<Json> {
  const question = readQuestion(body);
  const catalog = await deps.catalogs.refresh();
  const table = findTable(catalog, question.table);
  const rights = await rightsOf(deps, catalog, question);
  const id = question.id === undefined ? undefined : parseId(table, question.id);
  const matches = async (rows: AuthorizedPredicate): Promise<boolean> => {
    const pipeline = [
      {
        $match: { _id: id ?? null, ...(question.action === "delete" ? {} : stateCondition(table, "living")) },
      },
      ...matchStages([rows], new Names()),
      { $count: "value" },
    ];
    return (await deps.store.count(table, pipeline)) > 0;
  };
  const explained = await Promise.all(
    rights.compiledRules(catalog, table, question.action).map(async (each) => ({
      ...each,
      matching: id === undefined ? undefined : await matchingOf(each.grants, matches),
    })),
  );
  const rules = explained.map(({ rule, grants, because, matching }) => ({
    ...ruleJson(rule),
    ...presetsJson(rule, matching?.[0]),
    applies: grants.length > 0,
    ...(because === undefined ? {} : { because: `it no longer fits "${table.name}": ${because}` }),
    ...warningOf(grants, question.action, table),
    ...(matching === undefined ? {} : { matches: matching.length > 0 }),
  }));
  const seen = rights.seenRows(catalog, table, question.action);
  const showsNone = seen?.kind === "never";
  const isSeen = seen === undefined || (!showsNone && (id === undefined || (await matches(seen))));
  return {
    table: table.name,
    action: question.action,
    isRootAdmin: rights.isRoot,
    allowed:
      mayAsRoot(rights, catalog, table, question.action) ||
      (isSeen && rules.some(({ applies, matches: hit }) => applies && hit !== false)),
    ...(isSeen ? {} : { because: showsNone ? NONE_SEEN : NOT_SEEN }),
    filter: effectiveFilter(
      rights,
      explained.filter(({ grants }) => grants.length > 0).map(({ rule }) => rule),
    ),
    rules,
    ...(question.action === "delete"
      ? {}
      : { columns: columnsJson(rights, catalog, table, question.action, explained) }),
  };
}

interface Explained extends Compiled {
  readonly rule: Rule;
  /** Those of its grants that are for the record in question: a rule has others for one's own record as a user. */
  readonly matching: readonly WriteGrant[] | undefined;
}

async function matchingOf(
  grants: readonly WriteGrant[],
  matches: (rows: AuthorizedPredicate) => Promise<boolean>,
): Promise<WriteGrant[]> {
  const found = await Promise.all(grants.map(({ rows }) => matches(rows)));
  return grants.filter((_, at) => found[at]);
}

const NOT_SEEN = "the record may not be read, so it does not exist for a write";
const NONE_SEEN =
  "no record may be read, so none exists for a write: the rules for reading the table show none, fit it no more or are off";

/** Root may do everything except write what nobody may write. */
function mayAsRoot(rights: Rights, catalog: Catalog, table: Table, action: Action): boolean {
  return rights.isRoot && (action === "read" || rights.write(catalog, table, action).length > 0);
}

function readQuestion(body: Json): Question {
  const problems: string[] = [];
  if (!isObject(body)) throw new AppError("VALIDATION_ERROR", { message: [`body: ${noObject(body)}`] });
  for (const key of Object.keys(body))
    if (!KEYS.includes(key)) problems.push(`${key}: unknown key; expected ${KEYS.join(", ")}`);
  const action = ACTIONS.find((each) => each === body.action);
  if (action === undefined) problems.push(`action: must be one of ${ACTIONS.join(", ")}`);
  if (typeof body.table !== "string") problems.push("table: must be the name of a table");
  if ((body.user === undefined) === (body.role === undefined))
    problems.push("user: give either a user or a role, by id; role null stands for everyone");
  if (body.user !== undefined && typeof body.user !== "string")
    problems.push("user: must be the id of a user");
  const role = body.role === null ? null : hexId(body.role);
  if (body.role !== undefined && role === undefined)
    problems.push("role: must be the id of a role, or null for everyone");
  if (body.id !== undefined && typeof body.id !== "string" && typeof body.id !== "number")
    problems.push("id: must be the id of a record");
  if (problems.length > 0 || action === undefined)
    throw new AppError("VALIDATION_ERROR", { message: problems });
  return {
    who: typeof body.user === "string" ? { user: body.user } : { role: role ?? null },
    table: String(body.table),
    action,
    id: body.id === undefined ? undefined : String(body.id),
  };
}

async function rightsOf(deps: ExplainPermissionDeps, catalog: Catalog, { who }: Question): Promise<Rights> {
  if ("role" in who) {
    if (who.role !== null) await requireRole(deps, catalog, who.role);
    return deps.rights.ofRole(who.role);
  }
  const userId = hexId(who.user);
  const principal = userId === undefined ? undefined : await deps.principalOf(userId);
  if (principal === undefined) throw new AppError("NOT_FOUND", "There is no active user with this id.");
  return deps.rights(principal);
}

/** Otherwise a role that does not exist would look like one without rules. */
async function requireRole(
  { store, roles }: ExplainPermissionDeps,
  catalog: Catalog,
  role: string,
): Promise<void> {
  const table = findTable(catalog, roles);
  const known = await store.existing(table, [parseId(table, role)]);
  if (known.size === 0) throw new AppError("NOT_FOUND", "There is no role with this id.");
}

/** Of a rule from a version that did not refuse it. */
function warningOf(grants: readonly WriteGrant[], action: Action, table: Table): JsonObject {
  const warnings = grants.flatMap(({ check }) => checkedElsewhere(check, action, table));
  return warnings.length === 0 ? {} : { warning: warnings.join("; ") };
}

function ruleJson({ id, roleId, filter, fields, presets, check }: Rule): JsonObject {
  return { id, role: roleId, filter, fields, presets, check };
}

/** What a rule sets of the record: of one's own it sets less than it says (see `sparing` in rights.ts). */
function presetsJson({ presets }: Rule, matching: WriteGrant | undefined): JsonObject {
  if (presets === null || matching === undefined) return {};
  const set = Object.entries(presets).filter(([name]) => Object.hasOwn(matching.presets, name));
  return { presets: Object.fromEntries(set) };
}

/** Matches nothing; an `_or` of nothing would match everything. */
const NO_ROW: Json = { id: { _in: [] } };

/** What all rules together let through, in the language of filters; null = every row. */
function effectiveFilter(rights: Rights, rules: readonly Rule[]): Json {
  if (rights.isRoot || rules.some(({ filter }) => filter === null)) return null;
  if (rules.length === 0) return NO_ROW;
  return rules.length === 1 ? (rules[0]?.filter ?? null) : { _or: rules.map(({ filter }) => filter) };
}

/**
 * For every member of the table, which rules grant it and which don't; for reading, also where it is shown and compared. The
 * id is shown by every rule for reading, and what is always shown is removed by none.
 */
function columnsJson(
  rights: Rights,
  catalog: Catalog,
  table: Table,
  action: Action,
  rules: readonly Explained[],
): Json[] {
  const explained = rules.filter(({ grants }) => grants.length > 0);
  // Nobody reads a secret column, but who may write it is asked first of all.
  const columns = [...table.columns.values()].filter(({ secret }) => action !== "read" || !secret);
  return [...columns, ...table.relations.values()].map((member) => {
    const explanation =
      action === "read"
        ? readingOf(rights, catalog, table, member)
        : writingOf(rights, catalog, table, member, action);
    const isShownId = action === "read" && member === table.idColumn;
    const isGranted = ({ grants, matching = [] }: Explained) =>
      isShownId || (matching.length > 0 ? matching : grants).some(({ members }) => members(member));
    const others = explanation.shown === "always" ? [] : explained.filter((each) => !isGranted(each));
    return {
      name: member.name,
      ...explanation,
      grantedBy: explained.filter(isGranted).map(({ rule }) => rule.id),
      removedBy: others.map(({ rule }) => rule.id),
    };
  });
}

/** Why the caller can't write a member, whatever rule grants it. */
function writingOf(
  rights: Rights,
  catalog: Catalog,
  table: Table,
  member: Column | Relation,
  action: Action,
): JsonObject {
  if (isGenerated(member)) return { because: "is made by the service" };
  if (member.readOnly) return { because: "is read-only" };
  if (!("link" in member)) return {};
  const view = rights.view(catalog);
  if (!view.mayLink(table, member)) return { because: `"${member.target}" may not be read` };
  const { linksThere, bringsNew } = linksOf(rights, catalog, view, table, member);
  const isSettable = linksThere || (action === "create" && bringsNew.creatable);
  return isSettable ? {} : { because: `no rule lets its links in "${member.target}" be set` };
}

function readingOf(rights: Rights, catalog: Catalog, table: Table, member: Column | Relation): JsonObject {
  const view = rights.view(catalog);
  const shown = view.names(table, "show").includes(member.name);
  const partly = shown && view.masks(table, [member]).length > 0;
  const hiddenTarget = "target" in member && view.rows(targetOf(catalog, member)).kind === "never";
  return {
    shown: shown ? (partly ? "in some rows" : "always") : "never",
    comparable: view.names(table, "use").includes(member.name),
    ...(hiddenTarget ? { because: `"${member.target}" may not be read` } : {}),
  };
}
