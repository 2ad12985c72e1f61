// Stores and removes the bytes of files so that a crash loses none and leaves none behind. Bytes are written before the
// record that names them and removed after it; a note written before that tells of bytes that no record ever came to name.
import { unavailable } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { ObjectId } from "bson";
import pLimit from "p-limit";
import type { ContentLedger } from "../mongo/content-ledger.js";
import { mayStillChange } from "../records/whole/uncertain.js";
import { within } from "../within.js";
import type { ContentStore } from "./content-store.js";

/** Deleting a folder may free thousands at once; deciding about each takes a few queries, one after the other. */
const DECIDED_AT_ONCE = 8;
/** A request waits for them, and a change of tables waits for the request. */
const DECIDING_MS = 5_000;

/** The part of the time for a stop in which a sweep may come to its end. */
const SHARE_TO_END = 1 / 3;

export interface ContentsDeps {
  readonly ledger: ContentLedger;
  readonly store: ContentStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long content that nobody claims is left alone, in milliseconds. */
  readonly leaseMs: number;
}

export class Contents {
  readonly #deps: ContentsDeps;
  /**
   * The contents that this process works on, by the work; each is claimed until it is settled. A new content is its own
   * work.
   */
  readonly #own = new Map<string, readonly string[]>();
  #timer: NodeJS.Timeout | undefined;
  /** Runs under way: one kind sweeps, another claims what this process works on. */
  readonly #turns = new Set<Promise<void>>();
  #isSweeping = false;
  #isStopped = false;

  constructor(deps: ContentsDeps) {
    this.#deps = deps;
  }

  get store(): ContentStore {
    return this.#deps.store;
  }

  /** Stores bytes under a new key. Until `settle` or `discard` they belong to no record. @returns the key */
  async write(bytes: AsyncIterable<Uint8Array>): Promise<string> {
    const key = new ObjectId().toHexString();
    await this.#open(key, [key]);
    try {
      await this.#deps.store.write(key, bytes);
    } catch (error) {
      await this.#abandon(key, this.#deps.store.mayStillLand(error));
      throw error;
    }
    return key;
  }

  /** Call it right before a record names the content. @throws AppError 503 when this process slept for too long */
  async claim(key: string): Promise<void> {
    if ((await this.#deps.ledger.renew([key], this.#lease())) === 1) return;
    this.#own.delete(key);
    throw unavailable("Storing the file took too long; send it again.", 1);
  }

  /** A record names the content now. */
  async settle(key: string): Promise<void> {
    this.#own.delete(key);
    // The sweep would find out by itself, and the request has succeeded whatever becomes of the note.
    await this.#close(key, key).catch((err: unknown) => this.#deps.logger.warn({ err }, "note left"));
  }

  /** No record will name it. Never throws: what can't be removed now is swept later. */
  async discard(key: string): Promise<void> {
    this.#own.delete(key);
    await this.#decide(key, key);
  }

  /**
   * What was to make a record name it has failed. If that may still be done, or is taken back later, the sweep finds out: it
   * decides two leases later.
   */
  async giveUp(key: string, error: unknown): Promise<void> {
    await this.#abandon(key, mayStillChange(error));
  }

  /**
   * Runs work that may leave contents unused, then removes those that no record names any more. If nobody knows whether it
   * was done, or it is taken back later, that is left to the sweep; so is what the store fails to remove, or not in time.
   * @param keys the contents that the records name before
   */
  async letGo<Result>(keys: readonly string[], act: () => Promise<Result>): Promise<Result> {
    const by = new ObjectId().toHexString();
    await this.#open(by, keys);
    let isKnown = true;
    try {
      return await act();
    } catch (error) {
      isKnown = !mayStillChange(error);
      throw error;
    } finally {
      if (isKnown) await this.#decideAll(keys, by);
      this.#own.delete(by);
    }
  }

  /** Sweeps now and then, and claims what this process works on. @param alone whether there is no other process */
  async start(alone: boolean): Promise<void> {
    if (alone) await this.#deps.ledger.lapse();
    const turn = (): void => {
      const turning = this.#turn()
        .catch((err: unknown) => this.#deps.logger.warn({ err }, "contents were not swept"))
        .finally(() => this.#turns.delete(turning));
      this.#turns.add(turning);
    };
    turn();
    this.#timer = setInterval(turn, this.#deps.leaseMs / 3).unref();
  }

  /**
   * Most sweeps are soon over and leave nothing to the next start. A long one ends with the content that it is working on,
   * so that whatever stops after it has time as well.
   * @param patienceMs how long it waits in all
   */
  async stop(patienceMs: number): Promise<void> {
    clearInterval(this.#timer);
    const turns = Promise.all(this.#turns);
    const toEndMs = patienceMs * SHARE_TO_END;
    const isOver = await within(toEndMs, turns);
    this.#isStopped = true;
    if (!isOver) await within(patienceMs - toEndMs, turns);
  }

  /**
   * Takes everything that nobody claims, and decides about what was taken a lease ago: if a record was being written then,
   * while the database stood still, it names its content by now.
   */
  async sweep(): Promise<void> {
    const { ledger, clock } = this.#deps;
    while (!this.#isStopped) {
      const taken = await ledger.take(clock.now(), this.#lease());
      if (taken === undefined) return;
      if (!taken.again) continue;
      await this.#decideOrThrow(taken.key);
    }
  }

  async #abandon(key: string, isUnknown: boolean): Promise<void> {
    if (isUnknown) this.#own.delete(key);
    else await this.discard(key);
  }

  async #turn(): Promise<void> {
    if (this.#own.size > 0) await this.#deps.ledger.renew([...this.#own.values()].flat(), this.#lease());
    // If the store is slow, each run would leave one more waiting for it.
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    await this.sweep().finally(() => {
      this.#isSweeping = false;
    });
  }

  #lease(): Date {
    return new Date(this.#deps.clock.now().getTime() + this.#deps.leaseMs);
  }

  async #open(by: string, keys: readonly string[]): Promise<void> {
    await this.#deps.ledger.open(keys, by, this.#lease());
    this.#own.set(by, keys);
  }

  /** Nothing is left to decide for this work, but for those who relied on it to look. */
  async #close(key: string, by: string): Promise<void> {
    if (!(await this.#deps.ledger.close(key, by))) await this.#decide(key, by);
  }

  /** Begins with no other one after a failure, which the next might wait for as long, nor after a while. */
  async #decideAll(keys: readonly string[], by: string): Promise<void> {
    const lastBegin = performance.now() + DECIDING_MS;
    let hasFailed = false;
    await pLimit(DECIDED_AT_ONCE).map(keys, async (key) => {
      if (hasFailed || performance.now() > lastBegin) return;
      if (!(await this.#decide(key, by))) hasFailed = true;
    });
  }

  /**
   * The last who works on a content decides: until then, one who is refused may give it back to its record.
   * @returns false when it failed, and is left to the sweep
   */
  async #decide(key: string, by: string): Promise<boolean> {
    try {
      if (await this.#deps.ledger.leave(key, by, this.#lease())) await this.#decideOrThrow(key, by);
      return true;
    } catch (err) {
      this.#deps.logger.warn({ err }, "a content is left to the sweep");
      return false;
    }
  }

  /**
   * It is kept if a record names it; otherwise it is removed, with all pictures made from it.
   * @param by the last who worked on it; undefined: a sweep
   */
  async #decideOrThrow(key: string, by?: string): Promise<void> {
    const { ledger } = this.#deps;
    if (!(await ledger.isNamed(key))) {
      // Whoever has begun since may have made that so, and may give it back; whoever begins now can't any more.
      if (!(await ledger.isUpTo(key, by))) return;
      await this.#remove(key);
    }
    await ledger.closeDecided(key, by);
  }

  async #remove(key: string): Promise<void> {
    const { ledger, store } = this.#deps;
    await store.remove(key);
    for (const variant of await ledger.variantsOf(key)) {
      await ledger.open([variant.key], key, this.#lease());
      await ledger.removeVariant(variant);
      await store.remove(variant.key);
      await this.#close(variant.key, key);
    }
  }
}
