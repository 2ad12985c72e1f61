// How many documents a collection has, without reading them.
//
// MongoDB keeps this number itself, but a server that was killed may start with a wrong one, and a sharded cluster adds
// documents that are moving. So the number is first compared with an exact count. A server that keeps running keeps whatever
// difference there was; when it is another server, or the same one restarted, the comparison is due again. A number that it
// gives as 0 may really be lower: it goes on counting down from a number that was too low, and tells nobody.
import type { Db } from "mongodb";
import { Stop } from "../stop.js";
import { tookTooLong } from "../store-refusals.js";
import type { ReadLimits } from "./read-limits.js";
import { isMongos } from "./sharding.js";

/**
 * These come before a call can reach another server, or the same one restarted: connections to a killed server are found
 * closed before a new one is made. Mostly they mean nothing of the kind: a read that is broken off closes its connection, too.
 */
const SERVER_EVENTS = ["serverDescriptionChanged", "connectionClosed"] as const;

/** The part of its time for which a count waits for others: what is left must do for counting itself. */
const WAITS_FOR = 1 / 3;

/** What to add to the number that the server keeps. */
interface Known {
  readonly server: string;
  readonly difference: number;
  readonly isSure: boolean;
}

type CountExactly = (signal?: AbortSignal) => Promise<number>;

/** Of a call: when it began and has to end, by `performance.now()`, and what breaks it off. */
interface Waiting {
  readonly asked: number;
  readonly until: number;
  readonly signal: AbortSignal;
}

/** A count that is read for several callers, and broken off when the last of them has left. */
class Reading {
  readonly began = performance.now();
  readonly exact: Promise<number>;
  readonly #stop = new Stop();
  #waiting = 0;

  /** Nobody can join it any more. */
  get isBrokenOff(): boolean {
    return this.#stop.aborted;
  }

  constructor(countExactly: CountExactly) {
    this.exact = countExactly(this.#stop);
  }

  /** @returns undefined when it fails, or when this caller waits no longer */
  async wait(waitMs: number, signal: AbortSignal): Promise<number | undefined> {
    this.#waiting += 1;
    try {
      return await learned(this.exact, waitMs, signal);
    } finally {
      this.#waiting -= 1;
      // The server ends by itself what only takes too long; a command that is broken off costs its connection.
      if (this.#waiting === 0 && signal.aborted) this.#stop.abort(tookTooLong());
    }
  }
}

export class TableCounts {
  readonly #db: Db;
  readonly #known = new Map<string, Known>();
  readonly #comparing = new Map<string, Promise<number>>();
  readonly #reading = new Map<string, Reading>();
  /** The server that answers, for as long as no event says that it may be another one. */
  #server: Promise<string | undefined> | undefined;

  constructor(db: Db) {
    this.#db = db;
    const forget = (): void => {
      this.#server = undefined;
    };
    for (const event of SERVER_EVENTS) db.client.on(event, forget);
  }

  /**
   * Counts a collection.
   * @param key names the collection for as long as it is the same
   * @param countExactly reads it, until its signal, or that of this call if it gets none; of those who ask at once, one reads and
   * the others wait a while for what it learns
   * @param limits of this call, waiting included
   */
  async count(
    key: string,
    collection: string,
    countExactly: CountExactly,
    { maxTimeMS, signal }: ReadLimits,
  ): Promise<number> {
    const asked = performance.now();
    const waitsUntil = asked + maxTimeMS * WAITS_FOR;
    for (let hasWaited = false; ; hasWaited = true) {
      const known = await this.#fromKnown(key, collection);
      if (known !== undefined) return known;
      const comparing = this.#comparing.get(key);
      if (comparing === undefined) return this.#compareAlone(key, collection, countExactly);
      const left = waitsUntil - performance.now();
      if (left <= 0)
        return this.#readTogether(key, countExactly, { asked, until: asked + maxTimeMS, signal });
      const exact = await learned(comparing, left, signal);
      signal.throwIfAborted();
      // The first one began before this call, and may not have seen what its caller has written.
      if (hasWaited && exact !== undefined) return exact;
    }
  }

  /** Is the number known without reading? */
  async knows(key: string): Promise<boolean> {
    const known = this.#known.get(key);
    return known?.isSure === true && known.server === (await this.#whichServer());
  }

  async #fromKnown(key: string, collection: string): Promise<number | undefined> {
    const known = this.#known.get(key);
    if (known?.isSure !== true) return undefined;
    const kept = await this.#kept(collection);
    // What was learned may be invalid once the number has been below zero.
    if (kept === 0) this.#known.delete(key);
    // Only now: between question and answer the server may have become another one.
    return kept > 0 && known.server === (await this.#whichServer()) ? kept + known.difference : undefined;
  }

  /** Those who have waited too long for a comparison: one of them reads for all who had asked by then. */
  async #readTogether(
    key: string,
    countExactly: CountExactly,
    { asked, until, signal }: Waiting,
  ): Promise<number> {
    for (;;) {
      signal.throwIfAborted();
      const running = this.#reading.get(key);
      const isOwn = running === undefined || running.isBrokenOff || running.began < asked;
      const reading = isOwn ? this.#read(key, countExactly) : running;
      const exact = await reading.wait(until - performance.now(), signal);
      signal.throwIfAborted();
      if (exact !== undefined) return exact;
      // Its refusal, or the one for lack of time.
      if (isOwn) return reading.exact;
      if (performance.now() >= until) return countExactly();
    }
  }

  #read(key: string, countExactly: CountExactly): Reading {
    const reading = new Reading(countExactly);
    this.#reading.set(key, reading);
    const forget = (): void => {
      if (this.#reading.get(key) === reading) this.#reading.delete(key);
    };
    reading.exact.then(forget, forget);
    return reading;
  }

  #compareAlone(key: string, collection: string, countExactly: () => Promise<number>): Promise<number> {
    const comparing = this.#compare(key, collection, countExactly).finally(() => this.#comparing.delete(key));
    this.#comparing.set(key, comparing);
    return comparing;
  }

  async #compare(key: string, collection: string, countExactly: () => Promise<number>): Promise<number> {
    const before = await this.#kept(collection);
    const server = await this.#whichServer();
    const exact = await countExactly();
    // A number that changed meanwhile can't be compared, nor can 0; the next call tries again.
    const isComparable = before > 0 && before === (await this.#kept(collection));
    if (!isComparable || server === undefined || server !== (await this.#whichServer())) return exact;
    const difference = exact - before;
    const last = this.#known.get(key);
    // One insert and one delete in between look like stillness, so a difference must be found twice.
    const isSure = difference === 0 || (last?.server === server && last.difference === difference);
    this.#known.set(key, { server, difference, isSure });
    return exact;
  }

  #whichServer(): Promise<string | undefined> {
    if (this.#server !== undefined) return this.#server;
    const asked = serverOf(this.#db);
    this.#server = asked;
    asked.catch(() => {
      if (this.#server === asked) this.#server = undefined;
    });
    return asked;
  }

  #kept(collection: string): Promise<number> {
    return this.#db.collection(collection).estimatedDocumentCount();
  }
}

/** What somebody else's count gives. @returns undefined when it fails, is late, or when nobody waits for it any more */
async function learned(
  counting: Promise<number>,
  waitMs: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (signal.aborted) return undefined;
  let giveUp = (): void => {};
  const late = new Promise<undefined>((resolve) => {
    giveUp = () => resolve(undefined);
  });
  const timer = setTimeout(giveUp, waitMs);
  signal.addEventListener("abort", giveUp);
  try {
    // It may be broken off for reasons of whoever began it.
    return await Promise.race([counting.catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

/**
 * Names the process that answers and, of a replica set, the election that made it the primary: one that has lost and won one
 * since may have undone writes. @returns undefined for a sharded cluster, whose numbers are never sure
 */
async function serverOf(db: Db): Promise<string | undefined> {
  const hello = await db.admin().command({ hello: 1 });
  const { topologyVersion, electionId } = hello;
  if (isMongos(hello)) return undefined;
  if (topologyVersion !== undefined) return `${topologyVersion.processId} ${electionId}`;
  // The embedded engine leaves it out.
  const { pid, localTime, uptimeMillis } = await db.admin().command({ serverStatus: 1, none: 1 });
  return `${pid} ${localTime.getTime() - Number(uptimeMillis)}`;
}
