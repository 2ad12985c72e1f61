// Knows which writes of this instance are in progress, and with which catalog each began: a change of a table waits for
// them, and so does a stop.
import { type AppError, unavailable } from "@portico/shared/app-error";
import type { Catalog, Table } from "../catalog/catalog.js";
import { until } from "../until.js";
import type { CurrentCatalog } from "./current-catalog.js";

/** How long a write waits for a table that is being changed, and how often it checks. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 50;

/** The write affects a table that is being changed; nothing has been written yet. */
class TableChanging extends Error {
  readonly table: string;
  constructor(table: string) {
    super(`"${table}" is being changed`);
    this.table = table;
  }
}

export class WriteGate {
  readonly #catalogs: CurrentCatalog;
  readonly #running = new Map<symbol, number>();
  /** One look at the catalog, shared by all writes that wait. */
  #look: Promise<Catalog> | undefined;
  #isClosed = false;
  #whenIdle = (): void => {};

  constructor(catalogs: CurrentCatalog) {
    this.#catalogs = catalogs;
  }

  /**
   * Runs a write. While a table that it affects is being changed it waits, then begins again with the new catalog.
   * @param write calls `requireSettled` before its first effect
   * @throws AppError 503 when the change takes longer than a request may wait, or the gate is closed
   */
  async run<Result>(write: () => Promise<Result>): Promise<Result> {
    let refusal: AppError | undefined;
    const tryOnce = async () => {
      // Not inside `#attempt`: the change waits for writes in progress.
      if (refusal !== undefined) await this.#lookAgain();
      try {
        return { result: await this.#attempt(write) };
      } catch (error) {
        if (!(error instanceof TableChanging)) throw error;
        refusal = stillChanging(error.table);
        return false;
      }
    };
    const tooLate = () => {
      throw refusal;
    };
    const { result } = await until(tryOnce, { patienceMs: PATIENCE_MS, everyMs: LOOK_MS, tooLate });
    return result;
  }

  /** Runs work that writes by no catalog, or by one through `run` alone: only a stop waits for it. */
  hold<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#track(work, Number.POSITIVE_INFINITY);
  }

  /** The number of changes on which everything that this instance does is at least based. */
  get version(): number {
    return Math.min(this.#catalogs.version, ...this.#running.values());
  }

  /**
   * Lets no further write begin and waits for those in progress, even if their client has left and nobody else waits for
   * them. A request of many writes ends between two of them.
   * @param patienceMs how long it waits
   */
  async close(patienceMs: number): Promise<void> {
    this.#isClosed = true;
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => {
      const giveUp = setTimeout(resolve, patienceMs);
      this.#whenIdle = () => {
        clearTimeout(giveUp);
        resolve();
      };
    });
  }

  #lookAgain(): Promise<Catalog> {
    this.#look ??= this.#catalogs.refresh().finally(() => {
      this.#look = undefined;
    });
    return this.#look;
  }

  async #attempt<Result>(write: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw stopping();
    return this.#track(write, this.#catalogs.version);
  }

  async #track<Result>(work: () => Promise<Result>, version: number): Promise<Result> {
    const key = Symbol();
    this.#running.set(key, version);
    try {
      return await work();
    } finally {
      this.#running.delete(key);
      if (this.#running.size === 0) this.#whenIdle();
    }
  }
}

/** Lets a write pass that affects none of the tables which are being changed. */
export function requireSettled(catalog: Catalog, tables: Iterable<Table>): void {
  if (catalog.changing.size === 0) return;
  for (const table of tables) if (catalog.changing.has(table.id)) throw new TableChanging(table.name);
}

function stopping(): AppError {
  return unavailable("This service is being stopped; try again.", 1);
}

function stillChanging(table: string): AppError {
  return unavailable(`"${table}" is being changed; try again shortly.`, 5);
}
