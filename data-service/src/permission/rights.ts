// Who may do what: a caller and the rules that concern them -> policies for every action. Pure.
import { AppError } from "@portico/shared/app-error";
import { signInNeeded } from "@portico/shared/bearer-token";
import type { JsonObject } from "@portico/shared/json";
import { canonical, same } from "../catalog/canonical.js";
import {
  type Catalog,
  type Column,
  isOpen,
  owningRelation,
  type Relation,
  type Table,
  targetOf,
} from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import { getOrMake } from "../get-or-make.js";
import type { Principal, SignedIn } from "../principal.js";
import { ALWAYS, type AuthorizedPredicate, NEVER } from "../query/ast.js";
import { inState, type State } from "../query/living.js";
import { conjunction, negation } from "../query/logic.js";
import { isBeyondRules, isNobodys, type ProtectedTables } from "./beyond-rules.js";
import { type Compiled, compileStored, readPolicy, type WriteGrant } from "./compile-rules.js";
import type { Members } from "./field-rules.js";
import { ownTable } from "./follow-names.js";
import { isShownAlways, type ReadGrant, type ReadPolicies, type ReadPolicy, ReadView } from "./read-view.js";
import type { Action, Rule, RuleTable, WriteAction } from "./rule.js";
import { type RuleSubject, variablesIn, variablesOf } from "./variables.js";

export interface RightsContext {
  readonly principal: Principal;
  readonly roleId: string | null;
  /** Enabled rules of the caller's role and of everyone. */
  readonly rules: readonly Rule[];
  /** The tables of rules for reading, of the caller's role or of everyone, that are switched off. */
  readonly readRulesOff?: readonly RuleTable[] | undefined;
  /** The latest change of tables whose names the rules use. */
  readonly change?: string | undefined;
  /** The caller's own record, if a rule uses it. */
  readonly user: JsonObject | null;
  readonly now: Date;
  readonly tables: ProtectedTables;
  /** Shared by all callers with these rules, if the rules depend neither on the caller nor on the time. */
  readonly views?: Views | undefined;
}

/** Those that decide what is read, as it began. */
type ReadTables = Iterable<Pick<Table, "name">>;

/** What may be read, by catalog: rules use its names. */
export type Views = WeakMap<Catalog, ReadView>;

const EVERYTHING: WriteGrant = { ruleId: "", rows: ALWAYS, members: () => true, presets: {}, check: ALWAYS };
const READ_EVERYTHING: ReadPolicy = { rows: ALWAYS, grants: [EVERYTHING] };

/** The tables have other names by now than those that the rules use: whoever asks for the rights again gets those that fit. */
export class NamesChanged extends AppError {
  constructor() {
    const headers = { "Retry-After": "1" };
    super("SERVICE_UNAVAILABLE", { message: "Tables have just been changed; try again.", headers });
  }
}

export class Rights {
  readonly #context: RightsContext;
  readonly #views: Views;
  /** What the rules grant, by table and action: a request asks several times, and a shared view as long as it lives. */
  readonly #granted = new WeakMap<Table, Map<Action, readonly WriteGrant[]>>();

  constructor(context: RightsContext) {
    this.#context = context;
    this.#views = context.views ?? new WeakMap();
  }

  get isRoot(): boolean {
    return isRoot(this.#context.principal);
  }

  /** What `$now` stands for. */
  get now(): Date {
    return this.#context.now;
  }

  /**
   * Does the same caller read by the same rules?
   * @param actions those whose rules decide what is read
   * @param tables all that what is read shows or goes through
   */
  readsAs(other: Rights, actions: readonly Action[], tables: ReadTables): boolean {
    return same(readBy(this.#context, actions, tables), readBy(other.#context, actions, tables));
  }

  /**
   * All that the caller is to rules for reading these tables, as a text: callers who have the same one read the same by the
   * same rules.
   */
  reader(tables: ReadTables): string {
    const { rules: _rules, ...caller } = readBy(this.#context, ["read"], tables);
    return canonical(caller);
  }

  /**
   * What decides all that the caller may do, but for the time: the rules, and what these may say of the caller, as a text. The
   * text is the same for all callers if no rule has a variable.
   */
  get decisive(): { readonly rules: readonly Rule[]; readonly caller: string } {
    const { rules, views, principal, user } = this.#context;
    return { rules, caller: canonical(views === undefined ? callerRecord(principal, user) : null) };
  }

  /** What the caller may read, as the query language looks it up. */
  view(catalog: Catalog): ReadView {
    return getOrMake(this.#views, catalog, () => new ReadView(catalog, this.read(catalog)));
  }

  /** The read rights, table by table. */
  read(catalog: Catalog): ReadPolicies {
    if (this.isRoot) return () => READ_EVERYTHING;
    return (table) => readPolicy(this.#grants(catalog, table, "read"));
  }

  /**
   * What `/me` may show: the user's own record and role, and beyond them whatever the user may read anyway. That is also all
   * that other records show of users and roles, be they the user's own: what a table shows is the same wherever it is reached.
   */
  own(catalog: Catalog, principal: SignedIn): ReadView {
    const others = this.read(catalog);
    const members = this.ownMembers(catalog);
    const { users, roles } = this.#context.tables;
    const policies: ReadPolicies = (table) => {
      if (table.name !== users && table.name !== roles) return others(table);
      const id = table.name === users ? principal.userId : principal.roleId;
      // A user without a role may see that they have none.
      const own: ReadGrant = { rows: id === null ? NEVER : rowOf(table, id), members };
      return readPolicy([own, ...(others(table)?.grants ?? [])]);
    };
    return new ReadView(catalog, policies, this.view(catalog));
  }

  /**
   * What of the user's own record and role needs no rule for users or roles: what is stored there and not hidden. Links that
   * lie in other records are those records' own: they are in it where rules show them in each of these that may be seen.
   */
  ownMembers(catalog: Catalog): Members {
    const others = this.read(catalog);
    return (member) => {
      if (!("link" in member) || member.link.on === "self") return isOpen(member);
      const target = targetOf(catalog, member);
      const owning = owningRelation({ target, relation: member });
      const grants = others(target)?.grants ?? [];
      return owning !== undefined && grants.length > 0 && isShownAlways(target, grants, owning);
    };
  }

  /**
   * What the caller may write by an action, rule by rule.
   * @param state of the records to be written
   */
  write(catalog: Catalog, table: Table, action: WriteAction, state: State = "living"): readonly WriteGrant[] {
    if (isNobodys(table, action)) return [];
    const grants = this.isRoot ? [EVERYTHING] : this.#grants(catalog, table, action);
    const seen = this.seenRows(catalog, table, action);
    if (seen?.kind === "never") return [];
    if (table.deletedAt === undefined && seen === undefined) return grants;
    return grants.map((grant) => ({
      ...grant,
      rows: inState(table, conjunction([grant.rows, seen ?? ALWAYS]), state),
    }));
  }

  /**
   * The rows to which a write is confined, whatever rule allows it: a record that the caller may not see does not exist for
   * them (contract, section 7). Where no rule at all is for reading a table, one for writing it writes unseen. A rule for
   * reading that fits no more, or is switched off, shows nothing, but must not open everything to the writes it confined.
   * @returns undefined when it is not confined
   */
  seenRows(catalog: Catalog, table: Table, action: Action): AuthorizedPredicate | undefined {
    if (this.isRoot || action === "read" || action === "create") return undefined;
    const view = this.view(catalog);
    if (!view.mayRead(table)) return this.#hasReadRule(catalog, table) ? NEVER : undefined;
    const rows = view.rows(table, "all");
    return rows.kind === "always" ? undefined : rows;
  }

  /**
   * Lets the action pass or refuses it.
   * @throws AppError 401 for anonymous callers, 403 for signed-in ones without a rule
   */
  require(catalog: Catalog, table: Table, action: Action): void {
    const isAllowed =
      action === "read" ? this.view(catalog).mayRead(table) : this.write(catalog, table, action).length > 0;
    if (isAllowed) return;
    const nobodys = isNobodys(table, action);
    if (this.#context.principal.kind === "anonymous" && !nobodys)
      throw signInNeeded(`Sign in to ${action} "${table.name}".`);
    const who = nobodys ? "Nobody may" : "You may not";
    throw new AppError("FORBIDDEN", `${who} ${action} "${table.name}".`);
  }

  /** Is there a rule for reading, whether it grants anything or not? */
  #hasReadRule(catalog: Catalog, { id, name }: Table): boolean {
    const { rules, readRulesOff = [] } = this.#context;
    return (
      readRulesOff.some((off) => ownTable(off, catalog)?.id === id) ||
      rules.some(({ table, action }) => table === name && action === "read")
    );
  }

  #grants(catalog: Catalog, table: Table, action: Action): readonly WriteGrant[] {
    this.requireNamesOf(catalog);
    const byAction = getOrMake(this.#granted, table, () => new Map<Action, readonly WriteGrant[]>());
    return getOrMake(byAction, action, () =>
      this.compiledRules(catalog, table, action).flatMap((rule) => rule.grants),
    );
  }

  /**
   * The rules that concern an action on a table, each with its result for this caller.
   * @throws AppError 503 when the names of the catalog are not those that the rules use
   */
  compiledRules(catalog: Catalog, table: Table, action: Action): ({ rule: Rule } & Compiled)[] {
    const { rules, principal, roleId, user, now, tables } = this.#context;
    this.requireNamesOf(catalog);
    const mine = rules.filter((rule) => rule.table === table.name && rule.action === action);
    const users = catalog.tables.get(tables.users);
    if (users === undefined || isBeyondRules(table, action, tables)) return [];
    const subject: RuleSubject = { user: callerRecord(principal, user), roleId, now };
    const context = { catalog, variables: variablesOf(subject, users) };
    const guarded = action !== "read" && table.name === tables.users;
    return mine.map((rule) => {
      const { grants, ...why } = compileStored(rule, table, context);
      const spared = guarded ? grants.flatMap((grant) => sparing(grant, table, principal)) : grants;
      return { rule, grants: spared, ...why };
    });
  }

  /** @throws NamesChanged when the names of the catalog are not those that the rules use */
  requireNamesOf(catalog: Catalog): void {
    if (this.#context.rules.length > 0 && catalog.change?.id !== this.#context.change)
      throw new NamesChanged();
  }
}

/** Everything that decides what a caller may read of some tables, except the time. */
function readBy(
  { principal, roleId, rules, user }: RightsContext,
  actions: readonly Action[],
  tables: ReadTables,
) {
  const names = new Set([...tables].map(({ name }) => name));
  const deciding = rules.filter(({ action, table }) => actions.includes(action) && names.has(table));
  const named = new Set(deciding.flatMap(({ filter }) => variablesIn(filter)));
  const own = Object.entries(callerRecord(principal, user) ?? {}).filter(([name]) =>
    named.has(`$user.${name}`),
  );
  return { isRoot: isRoot(principal), roleId, user: Object.fromEntries(own), rules: deciding };
}

function isRoot(principal: Principal): boolean {
  return principal.kind === "user" && principal.isRootAdmin;
}

/**
 * No rule reaches a root admin's account or makes one, and nobody changes their own role or state. One's own password is
 * changed by PATCH /me, where the current one must be known: otherwise a stolen token could take over the account.
 */
function sparing(grant: WriteGrant, users: Table, principal: Principal): WriteGrant[] {
  const isRootAdmin = users.columns.get("isRootAdmin");
  const [role, isActive]: (Column | Relation | undefined)[] = [
    users.relations.get("role"),
    users.columns.get("isActive"),
  ];
  if (isRootAdmin === undefined) return [];
  const { isRootAdmin: _never, ...presets } = grant.presets;
  const isRoot: AuthorizedPredicate = { kind: "test", column: isRootAdmin, test: { op: "eq", value: true } };
  const isOneself = ownRow(users, principal);
  const others: WriteGrant = {
    ...grant,
    presets,
    rows: conjunction([grant.rows, negation(isRoot), negation(isOneself)]),
    members: (member) => member !== isRootAdmin && grant.members(member),
  };
  const { role: _role, isActive: _state, email: _email, password: _password, ...ownPresets } = presets;
  const kept = [role, isActive, users.columns.get("email"), users.columns.get("password")];
  const oneself: WriteGrant = {
    ...others,
    presets: ownPresets,
    rows: conjunction([grant.rows, negation(isRoot), isOneself]),
    members: (member) => !kept.includes(member) && others.members(member),
  };
  // No row is of both: where a check refuses the first, the second must not be tried without the presets.
  return [others, oneself];
}

function ownRow(users: Table, principal: Principal): AuthorizedPredicate {
  return principal.kind === "user" ? rowOf(users, principal.userId) : NEVER;
}

function rowOf(table: Table, id: string): AuthorizedPredicate {
  const value = COLUMN_TYPES[table.idColumn.type].parse(id, []);
  return value === undefined ? NEVER : { kind: "test", column: table.idColumn, test: { op: "eq", value } };
}

function callerRecord(principal: Principal, user: JsonObject | null): JsonObject | null {
  return principal.kind === "user" ? { ...user, id: principal.userId } : null;
}
