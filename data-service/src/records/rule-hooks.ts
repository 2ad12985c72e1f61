// What writing a permission rule means: it must fit the table it is about, and it holds at once. So does what a role grants, and
// one that rules set stays.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import type { Catalog } from "../catalog/catalog.js";
import type { Stored } from "../catalog/stored.js";
import type { RuleStore } from "../mongo/rule-store.js";
import type { ProtectedTables } from "../permission/beyond-rules.js";
import { ruleProblems } from "../permission/check-rule.js";
import { type RoleSetter, setterOf } from "../permission/role-presets.js";
import type { CurrentCatalog } from "../schema/current-catalog.js";
import { NO_HOOKS, type TableHooks } from "./table-hooks.js";

export interface RuleHooksDeps {
  readonly catalogs: Pick<CurrentCatalog, "decide">;
  readonly tables: ProtectedTables;
  /** Forgets what is kept of rules. */
  readonly forget: () => void;
  /** A stored rule as JSON. */
  readonly read: (id: Stored) => Promise<JsonObject | undefined>;
}

/** Of the table of rules. */
export function makeRuleHooks({ catalogs, tables, forget, read }: RuleHooksDeps): TableHooks {
  const check = (catalog: Catalog, rule: Json): void => {
    const problems = ruleProblems(isObject(rule) ? rule : {}, { catalog, protected: tables });
    if (problems.length > 0) throw new AppError("VALIDATION_ERROR", { message: problems });
  };
  return {
    ...NO_HOOKS,
    afterWrite: async () => forget(),
    beforeCreate: check,
    async beforeUpdate(id, body) {
      if (isObject(body) && leavesMeaning(body)) return;
      const stored = await read(id);
      if (stored !== undefined && isObject(body))
        await catalogs.decide((now) => check(now, { ...stored, ...body }));
    },
  };
}

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
