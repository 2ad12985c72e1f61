// The catalog that this process works with: reloaded when another instance has changed a table.
import { AppError } from "@portico/shared/app-error";
import { type Clock, steadyTime } from "@portico/shared/clock";
import { buildCatalog, type SystemTableDefinition } from "../catalog/build-catalog.js";
import type { Catalog } from "../catalog/catalog.js";
import type { TableDefinition } from "../catalog/definition.js";
import type { CatalogState } from "../mongo/catalog-store.js";

/** Where definitions come from. */
export interface CatalogSource {
  /** The number of changes so far, the ids of tables whose records nobody writes at the moment, and the latest change. */
  state(): Promise<CatalogState>;
  load(): Promise<TableDefinition[]>;
}

/** How long a catalog counts as current without asking. */
const FRESH_MS = 1_000;

export class CurrentCatalog {
  readonly #source: CatalogSource;
  readonly #system: readonly SystemTableDefinition[];
  readonly #time: () => number;
  readonly #note: (kind: "lookup" | "load") => void;
  #catalog: Catalog;
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** @param note told of each use of the catalog, and of those for which the database had to be asked first */
  constructor(
    source: CatalogSource,
    system: readonly SystemTableDefinition[],
    clock: Clock,
    note: (kind: "lookup" | "load") => void = () => {},
  ) {
    this.#source = source;
    this.#system = system;
    this.#time = steadyTime(clock);
    this.#note = note;
    this.#catalog = buildCatalog(-1, [], system);
  }

  /** The catalog, at most a second old. */
  async get(): Promise<Catalog> {
    this.#note("lookup");
    const fresh = this.#time() - this.#checkedAt < FRESH_MS;
    if (fresh) return this.#catalog;
    this.#note("load");
    return this.refresh();
  }

  /** The number of changes that the present catalog includes. */
  get version(): number {
    return this.#catalog.version;
  }

  /** Asks whether anything has changed and reloads if so. */
  async refresh(): Promise<Catalog> {
    const checkedAt = this.#time();
    let state = await this.#source.state();
    while (state.version > this.#catalog.version) state = await this.#load(state);
    this.#checkedAt = checkedAt;
    return this.#catalog;
  }

  /** @returns the state afterwards: if it differs, the definitions may be newer than the number says */
  async #load(state: CatalogState): Promise<CatalogState> {
    const { version, changing, change } = state;
    const definitions = await this.#source.load();
    const now = await this.#source.state();
    // Two refreshes at once may end in either order; the older one must not win.
    if (now.version === version && version > this.#catalog.version)
      this.#catalog = buildCatalog(version, definitions, this.#system, changing, change);
    return now;
  }

  /**
   * Decides something by the catalog. If the result is a refusal, makes sure that no newer catalog would allow it, because
   * another instance may have made the table a moment ago.
   * @param decide pure, or at least without effects when it throws
   */
  async decide<Result>(decide: (catalog: Catalog) => Result | Promise<Result>): Promise<Result> {
    const catalog = await this.get();
    try {
      return await decide(catalog);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const newer = await this.refresh();
      if (newer === catalog) throw error;
      return decide(newer);
    }
  }
}
