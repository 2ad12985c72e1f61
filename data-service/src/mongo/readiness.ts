// Whether the database answers: asked on a connection of its own, because a busy pool does not mean that the database
// is away.
import { MongoClient, type MongoClientOptions } from "mongodb";

/** Less than a probe waits, the gateway's for one (2 s). */
const LIMIT_MS = 1_500;

export class Readiness {
  readonly #client: MongoClient;
  #asked: Promise<boolean> | undefined;

  /** Connects when it is asked first. @param options those of the client that serves requests */
  constructor(url: string, options: MongoClientOptions) {
    this.#client = new MongoClient(url, {
      ...options,
      maxPoolSize: 1,
      minPoolSize: 0,
      monitorCommands: false,
      serverSelectionTimeoutMS: LIMIT_MS,
      waitQueueTimeoutMS: LIMIT_MS,
    });
  }

  /** Has the database answered in time? Those who ask at once share the question. */
  async ask(): Promise<boolean> {
    this.#asked ??= this.#ping().finally(() => {
      this.#asked = undefined;
    });
    return Promise.race([this.#asked, late()]);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #ping(): Promise<boolean> {
    try {
      // A client that could not connect does not try again by itself; one that has goes on.
      await this.#client.connect();
      await this.#client.db("admin").command({ ping: 1 });
      return true;
    } catch {
      return false;
    }
  }
}

function late(): Promise<false> {
  return new Promise((resolve) => {
    // An event loop that is late itself looks first for what has come meanwhile.
    setTimeout(() => setImmediate(() => resolve(false)), LIMIT_MS).unref();
  });
}
