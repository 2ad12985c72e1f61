// Whether the database answers: asked on a separate connection, because a busy pool does not mean that the database is away.
import type { MongoClient } from "mongodb";
import { ASIDE_LIMIT_MS } from "./aside.js";
import { INSTANCES } from "./instance-store.js";

export class Readiness {
  readonly #client: MongoClient;
  readonly #routedTo: string | undefined;
  #asked: Promise<boolean> | undefined;

  /**
   * @param client one that serves no requests
   * @param routedTo the database, where a router of a sharded cluster answers for it
   */
  constructor(client: MongoClient, routedTo?: string) {
    this.#client = client;
    this.#routedTo = routedTo;
  }

  /** Has the database answered in time? Callers that ask at once share the question. */
  async ask(): Promise<boolean> {
    this.#asked ??= this.#answers().finally(() => {
      this.#asked = undefined;
    });
    return Promise.race([this.#asked, late()]);
  }

  async #answers(): Promise<boolean> {
    try {
      // A client that failed to connect does not try again by itself; one that has connected goes on.
      await this.#client.connect();
      await (this.#routedTo === undefined ? this.#ping() : this.#readFrom(this.#routedTo));
      return true;
    } catch {
      return false;
    }
  }

  async #ping(): Promise<void> {
    await this.#client.db("admin").command({ ping: 1 });
  }

  /** A router answers a `ping` by itself, also where the shard has no primary. */
  async #readFrom(database: string): Promise<void> {
    const instances = this.#client.db(database, { readPreference: "primary" }).collection(INSTANCES);
    await instances.findOne({}, { projection: { _id: 1 }, maxTimeMS: ASIDE_LIMIT_MS });
  }
}

function late(): Promise<false> {
  return new Promise((resolve) => {
    // If the event loop itself is late, it first looks for what has come meanwhile.
    setTimeout(() => setImmediate(() => resolve(false)), ASIDE_LIMIT_MS).unref();
  });
}
