// What members need that were switched on for existing records: numbers of children are counted, and used from then on.
// Grams of searchable columns need nothing here: their own filler finds them.
import { ownCounters, tableById } from "../catalog/catalog.js";
import type { CatalogStore } from "../mongo/catalog-store.js";
import type { CountStore } from "../mongo/count-store.js";
import type { CurrentCatalog } from "./current-catalog.js";
import type { BackfillDerived } from "./newly-derived.js";

export interface BackfillDeps {
  readonly catalogs: Pick<CurrentCatalog, "refresh">;
  readonly catalogStore: Pick<CatalogStore, "built">;
  readonly counts: Pick<CountStore, "countAll">;
}

export function makeBackfill({ catalogs, catalogStore, counts }: BackfillDeps): BackfillDerived {
  return async ({ table, counted }, report) => {
    const catalog = await catalogs.refresh();
    const current = tableById(catalog, table.id);
    if (current === undefined || counted.length === 0) return;
    const ids = counted.map(({ id }) => id);
    for (const counter of ownCounters(current).filter((each) => ids.includes(each.id))) {
      await counts.countAll(counter, report);
    }
    await catalogStore.built(table.id, ids);
    await catalogs.refresh();
  };
}
