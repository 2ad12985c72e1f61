// How many documents a collection has, without reading them.
//
// MongoDB keeps this number itself, but a server that was killed may start with a wrong one, and a sharded cluster adds
// documents that are moving. So the number is first compared with an exact count. A server that keeps running keeps whatever
// difference there was; when it is another server, or the same one restarted, the comparison is due again. A number that it
// gives as 0 may really be lower: it goes on counting down from a number that was too low, and tells nobody.
import type { Db } from "mongodb";
import { isShardedCluster } from "./sharding.js";

/**
 * These come before a call can reach another server, or the same one restarted: connections to a killed server are found
 * closed before a new one is made.
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
  /** Increased with every change of the servers; what was learned before is no longer valid. */
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
    // What was learned may be invalid once the number has been below zero.
    if (kept === 0) this.#known.delete(key);
    // Between question and answer the server may have become another one.
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
    // A number that changed meanwhile can't be compared, nor can 0; the next call tries again.
    const isComparable = before > 0 && before === (await this.#kept(collection));
    if (!isComparable || era !== this.#era || (await isShardedCluster(this.#db))) return exact;
    const difference = exact - before;
    const last = this.#known.get(key);
    // One insert and one delete in between look like stillness, so a difference must be found twice.
    const isSure = difference === 0 || (last?.era === era && last.difference === difference);
    this.#known.set(key, { era, difference, isSure });
    return exact;
  }

  #kept(collection: string): Promise<number> {
    return this.#db.collection(collection).estimatedDocumentCount();
  }
}
