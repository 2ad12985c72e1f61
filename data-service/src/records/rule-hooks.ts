// What writing a permission rule means: it must fit the table it is about, and it holds at once.
import { AppError } from "@portico/shared/app-error";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import type { Catalog, Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import type { ProtectedTables } from "../permission/beyond-rules.js";
import { ruleProblems } from "../permission/check-rule.js";
import { nestedIn } from "./body/nested.js";

export interface RuleHooksDeps {
  readonly tables: ProtectedTables;
  readonly maxDepth: number;
  /** Forgets what is kept of rules. */
  readonly forget: () => void;
  /** A stored rule as JSON. */
  readonly read: (id: Stored) => Promise<JsonObject | undefined>;
}

export interface RuleHooks {
  /** @throws AppError 400 with every problem of the rules */
  beforeCreate(table: Table, catalog: Catalog, bodies: readonly Json[]): Promise<void>;
  beforeUpdate(table: Table, catalog: Catalog, id: Stored, body: Json): Promise<void>;
  /**
   * A change that makes records as well may be taken back much later, by another process. Who has changed the rule meanwhile,
   * and seen whose it was then, would find it applied to others.
   * @throws AppError 400 where a change of a rule makes records
   */
  refuseNested(table: Table, catalog: Catalog, body: Json): void;
  afterChange(table: Table): void;
}

export function makeRuleHooks({ tables, maxDepth, forget, read }: RuleHooksDeps): RuleHooks {
  const check = (catalog: Catalog, rules: readonly Json[]): void => {
    const problems = rules.flatMap((rule, at) =>
      ruleProblems(isObject(rule) ? rule : {}, { catalog, protected: tables, maxDepth }).map((problem) =>
        rules.length === 1 ? problem : `[${at}].${problem}`,
      ),
    );
    if (problems.length > 0) throw new AppError("VALIDATION_ERROR", { message: problems });
  };
  return {
    async beforeCreate(table, catalog, bodies) {
      if (table.name === tables.permissions) check(catalog, bodies);
    },
    async beforeUpdate(table, catalog, id, body) {
      if (table.name !== tables.permissions) return;
      const stored = await read(id);
      if (stored !== undefined && isObject(body)) check(catalog, [{ ...stored, ...body }]);
    },
    refuseNested(table, catalog, body) {
      if (table.name !== tables.permissions) return;
      const message = nestedIn(body, table, catalog).map(
        ({ path }) => `${path}: a change of a rule makes no other records; make this one first, and link it`,
      );
      if (message.length > 0) throw new AppError("VALIDATION_ERROR", { message });
    },
    afterChange(table) {
      if (table.name === tables.permissions || table.name === tables.roles) forget();
    },
  };
}
