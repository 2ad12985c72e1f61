// meta.totalCount and meta.filterCount: known, joined or grouped, whichever reads least.
import type { AuthorizedQuery, MetaKey } from "../query/ast.js";
import { countsAll, countsLiving, groupedCount, lowerCount } from "../query/lower/count.js";
import type { RecordDeps } from "./deps.js";
import { stateCondition } from "./kept.js";

/** Counts the rows of a planned query. */
export async function countRows(
  { store, thresholds }: Pick<RecordDeps, "store" | "thresholds">,
  query: AuthorizedQuery,
  which: MetaKey,
): Promise<number> {
  const { table } = query.root;
  if (countsAll(query, which)) return store.countAll(table);
  if (countsLiving(query, which)) {
    // Deleted records stand in an index of their own, and are few.
    const deleted = store.count(table, [{ $match: stateCondition(table, "deleted") }, { $count: "value" }]);
    const [all, gone] = await Promise.all([store.countAll(table), deleted]);
    return all - gone;
  }
  const pipeline = lowerCount(query, which);
  const grouped = groupedCount(query, which);
  if (grouped === undefined) return store.count(table, pipeline);
  const rows = await store.read(table, grouped.probe(thresholds.fewParents));
  return store.count(table, rows.length > thresholds.fewParents ? grouped.pipeline : pipeline);
}
