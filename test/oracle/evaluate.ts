// A whole list request answered in memory, from the words of the contract and nothing else. Slow and plain on purpose.
import { aggregateOf } from "./aggregate.js";
import { checkShape, parseFields, shape } from "./fields.js";
import { checkFilter, isTrue } from "./filter.js";
import { type Json, type JsonObject, Refused, rowsOf, tableOf, type World } from "./model.js";
import { pageOf, sorted } from "./sort.js";

/** The parameters of a list call, with JSON where the address has JSON. */
export interface Parameters {
  readonly fields?: string;
  readonly filter?: JsonObject;
  readonly sort?: string;
  readonly limit?: number;
  readonly page?: number;
  readonly meta?: string;
  readonly deep?: JsonObject;
  readonly aggregate?: JsonObject;
}

export interface ListAnswer {
  readonly data: readonly Json[];
  readonly meta?: JsonObject;
}

/** What `GET /{table}` must answer; throws `Refused` where it must be a 400. */
export function evaluate(world: World, tableName: string, parameters: Parameters): ListAnswer {
  const table = tableOf(world, tableName);
  const rows = rowsOf(world, table);
  const { filter, sort, limit, page, deep = {} } = parameters;
  const found = rows.filter((row) => isTrue(world, table, filter, row));
  const scope = parseFields(parameters.fields);
  checkFilter(world, table, filter ?? {});
  checkShape(world, table, scope, deep);
  const data = pageOf(sorted(world, table, found, sort), limit, page).map((row) =>
    shape(world, table, row, scope, deep),
  );
  const counts = countsOf(parameters.meta, rows.length, found.length);
  const { aggregate = {} } = parameters;
  const aggregated =
    Object.keys(aggregate).length === 0 ? {} : { aggregate: aggregateOf(world, table, found, aggregate) };
  const meta = { ...counts, ...aggregated };
  return Object.keys(meta).length === 0 ? { data } : { data, meta };
}

function countsOf(meta: string | undefined, totalCount: number, filterCount: number): JsonObject {
  if (meta === undefined) return {};
  if (meta === "*") return { totalCount, filterCount };
  const counts: Readonly<Record<string, number>> = { totalCount, filterCount };
  return Object.fromEntries(
    meta.split(",").map((text) => {
      const count = counts[text.trim()];
      if (count === undefined) throw new Refused(`meta: ${text}`);
      return [text.trim(), count];
    }),
  );
}
