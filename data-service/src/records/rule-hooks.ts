// What writing a permission rule means: it must fit the table it is about, and it holds at once. So does what a role grants.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import type { Catalog } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import type { ProtectedTables } from "../permission/beyond-rules.js";
import { ruleProblems } from "../permission/check-rule.js";
import { NO_HOOKS, type TableHooks } from "./table-hooks.js";

export interface RuleHooksDeps {
  readonly tables: ProtectedTables;
  readonly maxDepth: number;
  /** Forgets what is kept of rules. */
  readonly forget: () => void;
  /** A stored rule as JSON. */
  readonly read: (id: Stored) => Promise<JsonObject | undefined>;
}

/** Of the table of rules. */
export function makeRuleHooks({ tables, maxDepth, forget, read }: RuleHooksDeps): TableHooks {
  const check = (catalog: Catalog, rules: readonly Json[]): void => {
    const problems = rules.flatMap((rule, at) =>
      ruleProblems(isObject(rule) ? rule : {}, { catalog, protected: tables, maxDepth }).map((problem) =>
        rules.length === 1 ? problem : `[${at}].${problem}`,
      ),
    );
    if (problems.length > 0) throw new AppError("VALIDATION_ERROR", { message: problems });
  };
  return {
    ...makeRoleHooks(forget),
    async beforeCreate(catalog, bodies) {
      check(catalog, bodies);
    },
    async beforeUpdate(catalog, id, body) {
      const stored = await read(id);
      if (stored !== undefined && isObject(body)) check(catalog, [{ ...stored, ...body }]);
    },
  };
}

/** Of the table of roles. @param forget forgets what is kept of rules */
export function makeRoleHooks(forget: () => void): TableHooks {
  return {
    ...NO_HOOKS,
    async afterWrite() {
      forget();
    },
  };
}
