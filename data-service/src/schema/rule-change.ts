// What a change of tables that is in use makes of permission rules: for updating them in the database, and for reading them
// before that.
import { buildCatalog, type SystemTableDefinition } from "../catalog/build-catalog.js";
import type { CatalogStore } from "../mongo/catalog-store.js";
import type { ChangeStore } from "../mongo/change-store.js";
import type { RuleChange } from "../mongo/rule-store.js";
import type { FitContext } from "../permission/check-rule.js";
import { ruleAfter } from "../permission/follow-rule.js";
import { KEPT_MS } from "./change-table.js";

export interface RuleChangeDeps {
  readonly catalogStore: Pick<CatalogStore, "load">;
  readonly changes: Pick<ChangeStore, "find">;
  readonly systemTables: readonly SystemTableDefinition[];
  readonly context: FitContext;
}

/** @param id of a change whose lock is still held @returns undefined when there is none with that id */
export async function ruleChangeOf(deps: RuleChangeDeps, id: string): Promise<RuleChange | undefined> {
  const change = await deps.changes.find(id);
  if (change === undefined) return undefined;
  const changed = new Set([...change.before, ...change.after].map((each) => each.id));
  const others = (await deps.catalogStore.load()).filter((each) => !changed.has(each.id));
  const before = buildCatalog(0, [...others, ...change.before], deps.systemTables);
  const after = buildCatalog(0, [...others, ...change.after], deps.systemTables);
  const { undoes, at } = change;
  const undoableSince = new Date(at.getTime() - KEPT_MS);
  const followed = { id, undoes, at, undoableSince, before, after, context: deps.context };
  return { id, decide: (rule) => ruleAfter(rule, followed) };
}
