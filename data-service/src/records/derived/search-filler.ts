// Keeps searchable columns complete in the background: at the start, when told of a change, and now and then, because
// another instance may have changed a table, or have written a record before it knew of the change.
import type { Logger } from "@portico/shared/logger";
import { searchableOf } from "../../catalog/grams.js";
import { type FillDeps, fillSearch } from "./fill-search.js";

export interface SearchFillerDeps extends FillDeps {
  readonly logger: Logger;
}

export interface SearchFiller {
  /** Looks for work soon instead of at the next turn: a column has become searchable. */
  wake(): void;
  /** Ends after the batch at hand; the rest is done after the next start. */
  stop(): Promise<void>;
}

const EVERY_MS = 30_000;

export function startSearchFiller(deps: SearchFillerDeps): SearchFiller {
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const later = (ms: number): void => {
    clearTimeout(timer);
    if (!isStopping) timer = setTimeout(turn, ms).unref();
  };
  const turn = (): void => {
    running = running.then(() => fillAll(deps, () => isStopping)).finally(() => later(EVERY_MS));
  };
  later(0);
  return {
    wake: () => later(0),
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** A table that can't be filled must not keep the others from being filled, nor the service from serving. */
async function fillAll(deps: SearchFillerDeps, isStopping: () => boolean): Promise<void> {
  const { catalogs, logger } = deps;
  const failed = (error: unknown): void =>
    logger.warn({ err: error }, "indexing records for searching failed; it is tried again");
  const current = () => catalogs.get().then((catalog) => [...catalog.tables.values()], failed);
  for (const { id } of (await current()) ?? []) {
    if (isStopping()) return;
    // Asked again for each: the earlier tables may have taken minutes, and this one may have changed by now.
    const table = (await current())?.find((each) => each.id === id);
    if (table === undefined || searchableOf(table.columns.values()).length === 0) continue;
    const filled = (await fillSearch(deps, table, isStopping).catch(failed)) ?? 0;
    if (filled > 0) logger.info({ table: table.name, records: filled }, "indexed records for searching");
  }
}
