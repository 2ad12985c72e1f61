// What a change of tables that is in use makes of permission rules: for updating them in the database, and for reading them
// before that.
import { AppError } from "@portico/shared/app-error";
import { buildCatalog, type SystemTableDefinition } from "../catalog/build-catalog.js";
import type { Catalog } from "../catalog/catalog.js";
import type { CatalogStore } from "../mongo/catalog-store.js";
import type { ChangeStore } from "../mongo/change-store.js";
import type { RuleChange } from "../mongo/rule-store.js";
import type { FitContext } from "../permission/check-rule.js";
import { ruleAfter } from "../permission/follow-rule.js";
import { until } from "../until.js";
import { keptSince } from "./change-table.js";
import type { CurrentCatalog } from "./current-catalog.js";

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
  const undoableSince = keptSince(at);
  const followed = { id, undoes, at, undoableSince, before, after, context: deps.context };
  return { id, decide: (rule) => ruleAfter(rule, followed) };
}

/** What tells whether rules have followed. */
interface RuleReaderDeps {
  readonly catalogs: Pick<CurrentCatalog, "refresh">;
}

/** Before rules follow a change that is in use, every instance ends what it has begun without it: uploads take long. */
const PATIENCE_MS = 5 * 60_000;
const LOOK_MS = 50;

/**
 * Waits until the rules in the database have the names of the tables of now.
 * @returns the latest catalog
 * @throws AppError 409 when that takes too long
 */
export async function rulesFollowed(deps: RuleReaderDeps): Promise<Catalog> {
  const tooLate = () => {
    throw new AppError("CONFLICT", "A table is being changed, and rules have yet to follow; try again then.");
  };
  return until(() => followedCatalog(deps), { patienceMs: PATIENCE_MS, everyMs: LOOK_MS, tooLate });
}

/** @returns whether the rules in the database have the names of the tables of now. The catalog is the latest then. */
export async function areRulesFollowed(deps: RuleReaderDeps): Promise<boolean> {
  return (await followedCatalog(deps)) !== false;
}

/**
 * Reads tables and rules that belong together: again where a table has been changed meanwhile.
 * @param read without effects
 * @throws AppError 409 when rules take too long to follow a change
 */
export async function betweenChanges<Found>(
  deps: RuleReaderDeps,
  read: () => Promise<Found>,
): Promise<Found> {
  for (;;) {
    const before = await rulesFollowed(deps);
    const found = await read();
    if ((await deps.catalogs.refresh()) === before) return found;
  }
}

async function followedCatalog({ catalogs }: RuleReaderDeps): Promise<Catalog | false> {
  const catalog = await catalogs.refresh();
  return catalog.change?.isFollowed !== false && catalog;
}
