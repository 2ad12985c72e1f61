// Whether the database answers: asked on a separate connection, because a busy pool does not mean that the database is away.
import { MongoClient, type MongoClientOptions } from "mongodb";

/** Less than a probe waits, such as the gateway's (2 s). */
const LIMIT_MS = 1_500;

export class Readiness {
  readonly #client: MongoClient;
  #asked: Promise<boolean> | undefined;

  /** Connects when it is first asked. @param options those of the client that serves requests */
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

  /** Has the database answered in time? Callers that ask at once share the question. */
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
      // A client that failed to connect does not try again by itself; one that has connected goes on.
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
    // If the event loop itself is late, it first looks for what has come meanwhile.
    setTimeout(() => setImmediate(() => resolve(false)), LIMIT_MS).unref();
  });
}
