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
    // Where all have to be counted, once has to do.
    const attempts = (await store.knowsCount(table)) ? ATTEMPTS : 0;
    return countLiving(countAll, () => count(deletedCount(table)), attempts);
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

/** How often the two numbers are read until they are of one moment. */
const ATTEMPTS = 3;

/**
 * All records less the deleted ones. Numbers that are read one after the other are of one moment where the first is still
 * the same after the second. Where both change all the time, the last ones have to do: to count the living reads them all.
 * @param attempts how often the first is read again
 */
async function countLiving(
  countAll: () => Promise<number>,
  countDeleted: () => Promise<number>,
  attempts: number,
): Promise<number> {
  let all = await countAll();
  for (let left = attempts; ; left -= 1) {
    const deleted = await countDeleted();
    if (left === 0) return Math.max(0, all - deleted);
    const now = await countAll();
    // The server counts all before a write is committed, and the deleted ones after it.
    if (now === all && deleted <= all) return all - deleted;
    all = now;
  }
}
