// Tells the other instances that this one exists and which schema it uses, and waits until all of them have followed a
// change.
import { randomUUID } from "node:crypto";
import { AppError } from "@portico/shared/app-error";
import type { Logger } from "@portico/shared/logger";
import { getOrMake } from "../get-or-make.js";
import { INSTANCE_LEASE_MS, type InstanceStore } from "../mongo/instance-store.js";
import { until } from "../until.js";
import { within } from "../within.js";
import type { CurrentCatalog } from "./current-catalog.js";
import type { WriteGate } from "./write-gate.js";

/** How often an idle instance looks for changes: a change of a table waits this long at most. */
const BEAT_MS = 200;
/** How often it says that it is alive when nothing has changed. */
const ANNOUNCE_MS = INSTANCE_LEASE_MS / 5;
const LOOK_MS = 20;

/** Something that an instance does now and then besides serving requests. */
type Chore = () => Promise<unknown>;

export class Presence {
  readonly id = randomUUID();
  readonly #instances: InstanceStore;
  readonly #catalogs: CurrentCatalog;
  readonly #gate: WriteGate;
  readonly #logger: Logger;
  #told: { version: number; at: number } | undefined;
  #beating: Promise<void> | undefined;
  readonly #working = new Map<Chore, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #failing = false;

  constructor(instances: InstanceStore, catalogs: CurrentCatalog, gate: WriteGate, logger: Logger) {
    this.#instances = instances;
    this.#catalogs = catalogs;
    this.#gate = gate;
    this.#logger = logger;
  }

  /**
   * Announces this instance before it does anything, and keeps doing so until `stop`.
   * @param chores run after each beat, unless still running; a beat never waits for them
   */
  async start(chores: readonly Chore[]): Promise<void> {
    await this.#instances.announce(this.id, -1);
    await this.#beat();
    this.#schedule(chores);
  }

  /** Leaves the list once everything in progress has ended. @param patienceMs how long to wait for that */
  async stop(patienceMs: number): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    // What has not ended by then is ended by others, or at the next start.
    await within(patienceMs, Promise.allSettled([this.#beating, ...this.#working.values()]));
    if (this.#told !== undefined) await this.#instances.leave(this.id).catch(() => {});
  }

  /**
   * Waits until every living instance, this one included, works with this number of changes.
   * @throws AppError 409 when writes in progress do not end, whatever tables they write
   */
  async everyone(version: number, patienceMs = Number.POSITIVE_INFINITY): Promise<void> {
    await this.#catalogs.refresh();
    const allFollow = async () =>
      this.#gate.version >= version && (await this.#instances.behind(version, this.id)).length === 0;
    const tooLate = () => {
      const message =
        "Writes that began earlier, of this table or another, take too long to end; try again later.";
      throw new AppError("CONFLICT", message);
    };
    await until(allFollow, { patienceMs, everyMs: LOOK_MS, tooLate });
  }

  #schedule(chores: readonly Chore[]): void {
    if (this.#stopped) return;
    const beat = async (): Promise<void> => {
      try {
        await this.#beat();
        // What began only now would find the database closed.
        if (this.#stopped) return;
        this.#failing = false;
        for (const chore of chores) this.#work(chore);
      } catch (error) {
        this.#warn(error);
      }
      this.#schedule(chores);
    };
    this.#timer = setTimeout(() => {
      this.#beating = beat();
    }, BEAT_MS).unref();
  }

  #work(chore: Chore): void {
    getOrMake(this.#working, chore, () =>
      chore()
        .catch((error: unknown) => this.#warn(error))
        .finally(() => this.#working.delete(chore)),
    );
  }

  /** Once, until it works again: otherwise a database that is away would be logged five times a second. */
  #warn(error: unknown): void {
    // Work that was under way during a stop finds the database closed.
    if (!this.#failing && !this.#stopped) this.#logger.warn({ err: error }, "can't follow schema changes");
    this.#failing = true;
  }

  async #beat(): Promise<void> {
    await this.#catalogs.refresh();
    const { version } = this.#gate;
    const now = performance.now();
    if (this.#told?.version === version && now - this.#told.at < ANNOUNCE_MS) return;
    await this.#instances.announce(this.id, version);
    this.#told = { version, at: now };
  }
}
