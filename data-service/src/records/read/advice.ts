// GET /svc_table/{id}/advice: queries that read far more than they answer, and the index that would help each.
import type { JsonObject } from "@portico/shared/json";
import type { Catalog } from "../../catalog/catalog.js";
import { type Principal, requireRoot } from "../../principal.js";
import { type Advice, type Suggestion, suggest } from "../../query/advice/suggest.js";
import { findTable, parseId, recordNotFound } from "../find-table.js";
import type { RecordDeps } from "../record-deps.js";
import type { Facts, SeenShape } from "./seen-queries.js";

/** Reading this many times what is answered calls for advice. */
const WASTEFUL = 10;

/**
 * Advice for one table, the greatest waste first.
 * @param tables name of the table of tables
 * @throws AppError 401, 403 as for reading the table of tables, 404 for an id that no table has
 */
export async function adviseTable(
  deps: RecordDeps,
  principal: Principal,
  tables: string,
  givenId: string,
): Promise<JsonObject[]> {
  const rights = await deps.rights(principal);
  const { table, catalog } = await deps.catalogs.decide((current) => {
    const ofTables = findTable(current, tables);
    rights.require(current, ofTables, "read");
    // Shapes reveal tables and rules that others may not know.
    requireRoot(principal, "Advice is for root admins.");
    const id = String(parseId(ofTables, givenId));
    const found = [...current.tables.values()].find((each) => !each.system && each.id === id);
    if (found === undefined) throw recordNotFound(ofTables);
    return { table: found, catalog: current };
  });
  const seen = await deps.seenQueries.of(table);
  return adviceFor(seen, catalog).map((each) => ({ ...each }));
}

function adviceFor(seen: readonly SeenShape[], catalog: Catalog): JsonObject[] {
  return seen
    .filter(({ timedOut, facts }) => timedOut > 0 || (facts !== undefined && ratioOf(facts) > WASTEFUL))
    .toSorted((a, b) => b.timedOut - a.timedOut || wasteOf(b) - wasteOf(a))
    .flatMap((each) => {
      const suggestion = suggest(each.shape, catalog);
      return suggestion === undefined ? [] : [adviceJson(each, suggestion)];
    });
}

/** A query that finds nothing is measured as if it had found one record. */
function ratioOf({ examined, returned }: Facts): number {
  return examined / Math.max(1, returned);
}

/** How much was read for nothing, all in all. */
function wasteOf({ seen, facts }: SeenShape): number {
  return facts === undefined ? 0 : seen * (facts.examined - facts.returned);
}

function adviceJson(seen: SeenShape, { advice, sentence }: Suggestion): JsonObject {
  const { shape, seen: times, timedOut, facts } = seen;
  return {
    shape: { table: shape.table, filter: shape.filter.map((part) => ({ ...part })), sort: [...shape.sort] },
    seen: times,
    timedOut,
    examined: facts?.examined ?? null,
    returned: facts?.returned ?? null,
    ratio: facts === undefined ? null : Math.round(ratioOf(facts) * 10) / 10,
    advice: asJson(advice),
    sentence: [
      sentence,
      ...(timedOut === 0 ? [] : [lateness(seen)]),
      ...(facts ? [figures(facts)] : []),
    ].join(" "),
  };
}

function asJson(advice: Advice): JsonObject | null {
  if (advice === null) return null;
  return "index" in advice ? { index: [...advice.index] } : { ...advice };
}

function lateness({ seen, timedOut }: SeenShape): string {
  return `${timedOut} of ${seen} took longer than a query may (QUERY_TIMEOUT_MS).`;
}

function figures({ examined, returned }: Facts): string {
  const records = (count: number): string => `${count} record${count === 1 ? "" : "s"}`;
  return `Now ${records(examined)} ${examined === 1 ? "is" : "are"} read to answer ${returned}.`;
}
