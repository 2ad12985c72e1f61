// meta.totalCount and meta.filterCount: known, joined or grouped, whichever reads least.
import type { Table } from "../../catalog/catalog.js";
import type { AuthorizedQuery, MetaKey } from "../../query/ast.js";
import { countsAll, countsLiving, groupedCount, lowerCount } from "../../query/lower/count.js";
import type { Stage } from "../../query/lower/document.js";
import { stateCondition } from "../delete/kept.js";
import type { RecordDeps } from "../record-deps.js";
import type { Effort } from "./effort.js";
import type { PlanDeps } from "./plan-read.js";

/** Counts deleted records: they are few, and have an index of their own. */
export function deletedCount(table: Table): Stage[] {
  return [{ $match: stateCondition(table, "deleted") }, { $count: "value" }];
}

/** Counts the rows of a planned query. */
export async function countRows(
  deps: Pick<RecordDeps, "store" | "thresholds">,
  query: AuthorizedQuery,
  which: MetaKey,
  effort: Effort,
): Promise<number> {
  const { store } = deps;
  const { table } = query.root;
  const count = (by: Stage[]) => effort.ask((limits) => store.count(table, by, limits));
  const countAll = () => effort.ask((limits) => store.countAll(table, limits));
  if (countsAll(query, which)) return countAll();
  if (countsLiving(query, which)) {
    const [all, deleted] = await Promise.all([countAll(), count(deletedCount(table))]);
    return all - deleted;
  }
  return count(await countedBy(deps, query, which, effort));
}

/** How the rows of a planned query are counted, where nothing tells their number: joined, or grouped if they are many. */
export async function countedBy(
  { store, thresholds: { fewParents } }: PlanDeps,
  query: AuthorizedQuery,
  which: MetaKey,
  effort: Effort,
): Promise<Stage[]> {
  const joined = lowerCount(query, which);
  const grouped = groupedCount(query, which);
  if (grouped === undefined) return joined;
  const rows = await effort.ask((limits) => store.read(query.root.table, grouped.probe(fewParents), limits));
  return rows.length > fewParents ? grouped.pipeline : joined;
}
