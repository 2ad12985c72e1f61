// What an interrupted request has left in deleted tables is left alone until these come back, or are gone for good.
import { type Catalog, tableById } from "../../catalog/catalog.js";
import type { ChangeStore } from "../../mongo/change-store.js";

/** Are all of these tables deleted, and kept so that they may come back? Their records are then seen to when they do. */
export async function areKept(
  { changes }: { readonly changes: Pick<ChangeStore, "keepsTable"> },
  catalog: Catalog,
  tables: ReadonlySet<string>,
): Promise<boolean> {
  for (const id of tables)
    if (tableById(catalog, id) !== undefined || !(await changes.keepsTable(id))) return false;
  return tables.size > 0;
}

/** Are all tables that a request has written to deleted, and kept so that they may come back? */
export function stepsAreKept(
  deps: Parameters<typeof areKept>[0],
  catalog: Catalog,
  steps: readonly { readonly table: string }[],
): Promise<boolean> {
  return areKept(deps, catalog, new Set(steps.map(({ table }) => table)));
}
