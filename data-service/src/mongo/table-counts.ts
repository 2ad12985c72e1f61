// How many documents a collection holds, without reading them.
//
// MongoDB keeps the number itself, but a server that was killed may begin with a wrong one, and a sharded cluster adds
// documents that are moving. So the number is compared with an exact count first. A server that goes on running keeps
// whatever difference there was; when it is another one, or the same one started anew, the comparison is due again. What it
// calls 0 may be less: it goes on counting down from a number that was too low, and says so to nobody.
import type { Db } from "mongodb";
import { isShardedCluster } from "./sharding.js";

/**
 * What comes before a call can reach another server, or the same one started anew: connections to one that was killed
 * are found closed before a new one is made.
 */
const SERVER_EVENTS = ["serverDescriptionChanged", "connectionClosed"] as const;

/** What to add to the number that the server keeps. */
interface Known {
  readonly era: number;
  readonly difference: number;
  readonly isSure: boolean;
}

export class TableCounts {
  readonly #db: Db;
  readonly #known = new Map<string, Known>();
  /** Grows with every change of the servers; what was learned before holds no longer. */
  #era = 0;

  constructor(db: Db) {
    this.#db = db;
    const nextEra = (): void => {
      this.#era += 1;
    };
    for (const event of SERVER_EVENTS) db.client.on(event, nextEra);
  }

  /**
   * Counts a collection.
   * @param key names the collection for as long as it is the same
   * @param countExactly reads it
   */
  async count(key: string, collection: string, countExactly: () => Promise<number>): Promise<number> {
    const known = this.#known.get(key);
    if (known === undefined || !this.knows(key)) return this.#compare(key, collection, countExactly);
    const kept = await this.#kept(collection);
    // What was learned may hold no longer once it has been below.
    if (kept === 0) this.#known.delete(key);
    // Between asking and answering the server may have become another one.
    return known.era === this.#era && kept > 0 ? kept + known.difference : countExactly();
  }

  /** Is the number known without reading? */
  knows(key: string): boolean {
    const known = this.#known.get(key);
    return known?.era === this.#era && known.isSure;
  }

  async #compare(key: string, collection: string, countExactly: () => Promise<number>): Promise<number> {
    const era = this.#era;
    const before = await this.#kept(collection);
    const exact = await countExactly();
    // A number that moved meanwhile can't be compared, nor can none; the next call tries again.
    const isComparable = before > 0 && before === (await this.#kept(collection));
    if (!isComparable || era !== this.#era || (await isShardedCluster(this.#db))) return exact;
    const difference = exact - before;
    const last = this.#known.get(key);
    // One insert and one delete in between look like stillness, so a difference has to be found twice.
    const isSure = difference === 0 || (last?.era === era && last.difference === difference);
    this.#known.set(key, { era, difference, isSure });
    return exact;
  }

  #kept(collection: string): Promise<number> {
    return this.#db.collection(collection).estimatedDocumentCount();
  }
}
