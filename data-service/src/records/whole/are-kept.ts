// What an interrupted request has left in deleted tables is left alone until these come back, or are gone for good.
import { type Catalog, tableById } from "../../catalog/catalog.js";
import type { ChangeStore } from "../../mongo/change-store.js";
import type { Step } from "./steps.js";

interface Deps {
  readonly changes: Pick<ChangeStore, "keepsTable">;
}

/** Is the table deleted, and kept so that it may come back? Its records are then seen to when it does. */
export async function isTableKept({ changes }: Deps, catalog: Catalog, table: string): Promise<boolean> {
  return tableById(catalog, table) === undefined && changes.keepsTable(table);
}

/** Steps that can't be taken back before such a table is there again: it has what they wrote, or is where their links lead. */
export async function keptSteps(
  deps: Deps,
  catalog: Catalog,
  steps: readonly Step[],
): Promise<readonly Step[]> {
  const tables = new Set(steps.flatMap(tablesOf));
  const kept = new Set<string>();
  for (const table of tables) if (await isTableKept(deps, catalog, table)) kept.add(table);
  return steps.filter((step) => tablesOf(step).some((table) => kept.has(table)));
}

/** Does all of it have to wait? */
export async function areKept(deps: Deps, catalog: Catalog, steps: readonly Step[]): Promise<boolean> {
  return steps.length > 0 && (await keptSteps(deps, catalog, steps)).length === steps.length;
}

function tablesOf(step: Step): string[] {
  return step.kind === "linked" ? [step.table, step.to.table] : [step.table];
}
