// What writing a permission rule means: it must fit the table it is about, and it holds at once. So does what a role grants, and
// one that rules set stays.
import { AppError } from "@portico/shared/app-error";
import { isObject, type JsonObject } from "@portico/shared/json";
import type { Catalog } from "../catalog/catalog.js";
import type { Stored } from "../catalog/stored.js";
import type { RuleStore } from "../mongo/rule-store.js";
import type { ProtectedTables } from "../permission/beyond-rules.js";
import { ruleProblems } from "../permission/check-rule.js";
import type { LoadRights } from "../permission/load-rights.js";
import type { ReadView } from "../permission/read-view.js";
import { type RoleSetter, setterOf } from "../permission/role-presets.js";
import { isVariable } from "../permission/variables.js";
import { SERVICE } from "../principal.js";
import type { CurrentCatalog } from "../schema/current-catalog.js";
import { authorizeLinks } from "./body/authorize-links.js";
import { checkBody } from "./body/check-body.js";
import type { AuthorizedLinks } from "./body/link-set.js";
import { type LinkedDeps, requireLinked } from "./body/require-linked.js";
import { alone, Violations } from "./body/violations.js";
import { NO_HOOKS, type TableHooks } from "./table-hooks.js";

export interface RuleHooksDeps extends LinkedDeps {
  readonly catalogs: Pick<CurrentCatalog, "decide">;
  readonly rights: LoadRights;
  readonly tables: ProtectedTables;
  /** Forgets what is kept of rules. */
  readonly forget: () => void;
  /** A stored rule as JSON. */
  readonly read: (id: Stored) => Promise<JsonObject | undefined>;
}

/** Of the table of rules. */
export function makeRuleHooks({ tables, forget, read, ...deps }: RuleHooksDeps): TableHooks {
  const check: TableHooks["beforeCreate"] = async (catalog, rules, { pathOf, isComing }) => {
    const known = rules.map((rule) => (isObject(rule) ? rule : {}));
    const violations = new Violations();
    for (const [at, rule] of known.entries()) {
      const refuse = () => refuseAny(ruleProblems(rule, { catalog, protected: tables }));
      violations.collect(pathOf(at), refuse);
    }
    violations.refuseAny();
    const view = (await deps.rights(SERVICE)).view(catalog);
    const links = known.map((rule) => presetLinks(rule, catalog, view));
    await requireLinked(deps, links, { pathOf: (at) => `${pathOf(at)}presets.`, isComing });
  };
  return {
    ...NO_HOOKS,
    afterWrite: async () => forget(),
    beforeCreate: check,
    async beforeUpdate(id, body) {
      if (isObject(body) && leavesMeaning(body)) return;
      const stored = await read(id);
      if (stored !== undefined && isObject(body))
        await deps.catalogs.decide((now) => check(now, [{ ...stored, ...body }], { pathOf: alone }));
    },
  };
}

function refuseAny(problems: readonly string[]): void {
  if (problems.length > 0) throw new AppError("VALIDATION_ERROR", { message: [...problems] });
}

/**
 * The links that a rule always sets: where they lead to nothing no write by it would succeed. They are told by name, as only root
 * writes rules.
 * @param rule one that fits its table; one that is off does no harm
 */
function presetLinks(rule: JsonObject, catalog: Catalog, view: ReadView): readonly AuthorizedLinks[] {
  const table = catalog.tables.get(String(rule.table));
  if (table === undefined || !isObject(rule.presets) || rule.isEnabled === false) return [];
  const fixed = Object.entries(rule.presets).filter(
    ([name, value]) => table.relations.has(name) && !isVariable(value),
  );
  const body = checkBody(Object.fromEntries(fixed), table, catalog, { mayWrite: () => true }, "update");
  return authorizeLinks(body, view, NO_PRESETS).links;
}

const NO_PRESETS = { ruleId: "", presets: {} };

/** Does it only describe a rule, or switch it off? That is possible, too, where the tables have changed and it fits no more. */
function leavesMeaning({ description: _description, isEnabled, ...rest }: JsonObject): boolean {
  return Object.keys(rest).length === 0 && (isEnabled === undefined || isEnabled === false);
}

export interface RoleHooksDeps {
  readonly catalogs: { get(): Promise<Catalog> };
  readonly rolesTable: string;
  readonly rules: Pick<RuleStore, "enabled" | "forget">;
}

/** Of the table of roles. */
export function makeRoleHooks({ catalogs, rolesTable, rules }: RoleHooksDeps): TableHooks {
  return {
    ...NO_HOOKS,
    /** Keeps a role that a rule sets, such as that of who signs up: nobody could any more. */
    async changing(_table, id, change, act) {
      if (change === null) {
        const setter = setterOf(String(id), await rules.enabled(), {
          catalog: await catalogs.get(),
          rolesTable,
        });
        if (setter !== undefined) throw isSet(setter);
      }
      return act({});
    },
    afterWrite: async () => rules.forget(),
  };
}

function isSet({ rule, member }: RoleSetter): AppError {
  const what = `The rule to ${rule.action} "${rule.table}" sets "${member}" to this role`;
  return new AppError(
    "CONFLICT",
    `${what}, and would refuse every write without it; change or delete that rule first (${rule.id}).`,
  );
}
