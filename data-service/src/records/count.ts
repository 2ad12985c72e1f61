// meta.totalCount and meta.filterCount: known, joined or grouped, whichever reads least.
import type { AuthorizedQuery, MetaKey } from "../query/ast.js";
import { countsAll, groupedCount, lowerCount } from "../query/lower/count.js";
import type { RecordDeps } from "./deps.js";

/** Counts the rows of a planned query. */
export async function countRows(
  { store, thresholds }: Pick<RecordDeps, "store" | "thresholds">,
  query: AuthorizedQuery,
  which: MetaKey,
): Promise<number> {
  const { table } = query.root;
  if (countsAll(query, which)) return store.countAll(table);
  const pipeline = lowerCount(query, which);
  const grouped = groupedCount(query, which);
  if (grouped === undefined) return store.count(table, pipeline);
  const rows = await store.read(table, grouped.probe(thresholds.fewParents));
  return store.count(table, rows.length > thresholds.fewParents ? grouped.pipeline : pipeline);
}
