// meta.totalCount and meta.filterCount: known, joined or grouped, whichever reads least.
import type { Table } from "../../catalog/catalog.js";
import type { AuthorizedQuery, MetaKey } from "../../query/ast.js";
import { countsAll, countsLiving, groupedCount, lowerCount } from "../../query/lower/count.js";
import type { Stage } from "../../query/lower/document.js";
import { stateCondition } from "../delete/kept.js";
import type { RecordDeps } from "../record-deps.js";
import type { Effort } from "./effort.js";

/** Counts deleted records: they are few, and have an index of their own. */
export function deletedCount(table: Table): Stage[] {
  return [{ $match: stateCondition(table, "deleted") }, { $count: "value" }];
}

/** Counts the rows of a planned query. */
export async function countRows(
  { store, thresholds }: Pick<RecordDeps, "store" | "thresholds">,
  query: AuthorizedQuery,
  which: MetaKey,
  effort: Effort,
): Promise<number> {
  const { table } = query.root;
  const count = (by: Stage[]) => effort.ask((limits) => store.count(table, by, limits));
  if (countsAll(query, which)) return store.countAll(table);
  if (countsLiving(query, which)) {
    const [all, deleted] = await Promise.all([store.countAll(table), count(deletedCount(table))]);
    return all - deleted;
  }
  const pipeline = lowerCount(query, which);
  const grouped = groupedCount(query, which);
  if (grouped === undefined) return count(pipeline);
  const rows = await effort.ask((limits) => store.read(table, grouped.probe(thresholds.fewParents), limits));
  return count(rows.length > thresholds.fewParents ? grouped.pipeline : pipeline);
}
