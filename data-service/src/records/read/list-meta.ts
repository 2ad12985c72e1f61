// `meta` of a list: the counts and aggregates that it asks for.
import type { Json, JsonObject } from "@portico/shared/json";
import type { AuthorizedQuery } from "../../query/ast.js";
import { lowerAggregate, shapeAggregate } from "../../query/lower/aggregate.js";
import type { RecordDeps } from "../record-deps.js";
import { countRows } from "./count.js";
import type { Effort } from "./effort.js";

/** @returns undefined when it asks for none */
export async function runMeta(
  deps: RecordDeps,
  query: AuthorizedQuery,
  effort: Effort,
): Promise<JsonObject | undefined> {
  if (query.meta.length === 0 && query.aggregate.length === 0) return undefined;
  const counts = query.meta.map(
    async (key): Promise<[string, Json]> => [key, await countRows(deps, query, key, effort)],
  );
  const entries = await Promise.all([...counts, ...aggregates(deps, query, effort)]);
  return Object.fromEntries(entries);
}

function aggregates(
  { store }: RecordDeps,
  query: AuthorizedQuery,
  effort: Effort,
): Promise<[string, Json]>[] {
  if (query.aggregate.length === 0) return [];
  const run = async (): Promise<[string, Json]> => {
    const [group] = await effort.ask((limits) => store.read(query.root.table, lowerAggregate(query), limits));
    return ["aggregate", shapeAggregate(query.aggregate, group)];
  };
  return [run()];
}
