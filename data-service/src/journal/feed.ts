// The journal for its followers: wakes them when there is more, and reads once what several ask for.
import type { Logger } from "@portico/shared/logger";
import { LRUCache } from "lru-cache";
import type { JournalStore, Numbered, Position } from "../mongo/journal-store.js";

/** How often to look for other instances' entries while somebody follows. */
const LOOK_MS = 200;
/** Entries read at once, and how many such readings are kept for a moment. */
const MOST_AT_ONCE = 100;
const MOST_KEPT = 8;
const KEPT_MS = 1_000;

export class Feed {
  readonly #journal: Pick<JournalStore, "tip" | "read">;
  readonly #logger: Logger;
  readonly #readings = new LRUCache<string, Promise<readonly Numbered[] | undefined>>({
    max: MOST_KEPT,
    ttl: KEPT_MS,
  });
  readonly #sleepers = new Map<symbol, { readonly number: number; readonly wake: () => void }>();
  #looking: NodeJS.Timeout | undefined;
  #isLooking = false;
  #lookAgain = false;
  #isFailing = false;

  constructor(journal: Pick<JournalStore, "tip" | "read">, logger: Logger) {
    this.#journal = journal;
    this.#logger = logger;
  }

  tip(): Promise<Position> {
    return this.#journal.tip();
  }

  /**
   * The next entries after a position; undefined when they are no longer known. Followers at the same position share them.
   */
  async read(position: Position): Promise<readonly Numbered[] | undefined> {
    const key = `${position.number} ${position.entry}`;
    const kept = this.#readings.get(key);
    if (kept !== undefined) return kept;
    const reading = this.#journal.read(position, MOST_AT_ONCE);
    this.#readings.set(key, reading);
    // A read that was not full, or that failed, says nothing about the next moment.
    reading.then(
      (found) => (found?.length ?? 0) < MOST_AT_ONCE && this.#forget(key, reading),
      () => this.#forget(key, reading),
    );
    return reading;
  }

  #forget(key: string, reading: Promise<unknown>): void {
    if (this.#readings.peek(key) === reading) this.#readings.delete(key);
  }

  /** Resolves when there is something after the position, or when the signal says that nobody waits any more. */
  async more(position: Position, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const key = Symbol();
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
      this.#sleepers.set(key, { number: position.number, wake: resolve });
      this.look();
    });
    this.#sleepers.delete(key);
  }

  /** Looks at once: this process has written something, or somebody begins to wait. */
  look(): void {
    if (this.#sleepers.size === 0) return;
    if (this.#isLooking) {
      this.#lookAgain = true;
      return;
    }
    this.#isLooking = true;
    clearTimeout(this.#looking);
    this.#journal
      .tip()
      .then(({ number }) => {
        // A smaller number means another journal; whoever reads will find that out.
        for (const sleeper of this.#sleepers.values()) if (sleeper.number !== number) sleeper.wake();
      })
      .then(
        () => {
          this.#isFailing = false;
        },
        (err: unknown) => {
          // Once, until it works again: otherwise a database that is away would be logged five times a second.
          if (!this.#isFailing) this.#logger.warn({ err }, "can't look for changes");
          this.#isFailing = true;
        },
      )
      .finally(() => {
        this.#isLooking = false;
        const now = this.#lookAgain;
        this.#lookAgain = false;
        this.#looking = setTimeout(() => this.look(), now ? 0 : LOOK_MS).unref();
      });
  }
}
