// Ends cursors in the database, on a connection that reads can't keep busy: those that hold all the others are what must end.
import { setTimeout as delay } from "node:timers/promises";
import type { Db, Long } from "mongodb";
import { Stop } from "../stop.js";

/** The database is asked again about as long as a short absence may take; it ends idle cursors by itself after ten minutes. */
const ATTEMPTS = 30;
const AGAIN_AFTER_MS = 2_000;

export class CursorKills {
  readonly #db: Db;
  /** Any number of kills wait for it; Node warns of a leak where more than ten wait for a signal of its own. */
  readonly #closed = new Stop();

  /** @param db of a client that serves no requests */
  constructor(db: Db) {
    this.#db = db;
  }

  /**
   * Ends a cursor, and what the database does for it. Of several routers of a cluster, one that does not know it may be asked;
   * the driver's own attempt goes to the right one.
   */
  async kill(collection: string, id: Long): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      if (this.#closed.aborted || (await this.#isKilled(collection, id))) return;
      await delay(AGAIN_AFTER_MS, undefined, { signal: this.#closed }).catch(() => {});
    }
  }

  /** No more attempts. */
  close(): void {
    this.#closed.abort(new Error("closed"));
  }

  async #isKilled(collection: string, id: Long): Promise<boolean> {
    try {
      // A client that failed to connect does not try again by itself.
      await this.#db.client.connect();
      await this.#db.command({ killCursors: collection, cursors: [id] });
      return true;
    } catch {
      return false;
    }
  }
}
