// How many records a table has, without reading them.
//
// MongoDB keeps the number of documents of every collection, but a crash of the server can leave it wrong for good. So
// the first question to a server process counts, and compares; where both agree, this process's number is right from
// then on, because nothing but a crash makes it drift.
import type { Db } from "mongodb";

/** What tells one run of a server from the next; undefined = can't be told, or its number means something else. */
export type ServerIdentity = () => Promise<string | undefined>;

export class Totals {
  readonly #db: Db;
  readonly #identity: ServerIdentity;
  /** Collection -> the server process whose number was seen to be right. */
  readonly #trusted = new Map<string, string>();
  /** Collections whose number is being put right. */
  readonly #mending = new Set<string>();
  readonly #mend: boolean;

  /** @param mend have a wrong number put right; the collection stands still meanwhile, so only on an engine of our own */
  constructor(db: Db, identity: ServerIdentity, mend: boolean) {
    this.#db = db;
    this.#identity = identity;
    this.#mend = mend;
  }

  /** The number, when it is known without counting; otherwise undefined, and the caller has to count. */
  async known(collection: string): Promise<number | undefined> {
    const trusted = this.#trusted.get(collection);
    if (trusted === undefined) return undefined;
    const kept = await this.#kept(collection);
    // Asked last: a server that has started anew before it answered says so here.
    return (await this.#identity()) === trusted ? kept : undefined;
  }

  /** Counts exactly, and finds out whether the kept number may be believed from now on. */
  async count(collection: string, countExactly: () => Promise<number>): Promise<number> {
    const identity = await this.#identity();
    const before = identity === undefined ? undefined : await this.#kept(collection);
    const exact = await countExactly();
    if (identity === undefined) return exact;
    const after = await this.#kept(collection);
    if (before === exact && after === exact) this.#trusted.set(collection, identity);
    // Without writes in between, a difference is an error.
    else if (before === after) this.#putRight(collection);
    return exact;
  }

  #kept(collection: string): Promise<number> {
    return this.#db.collection(collection).estimatedDocumentCount();
  }

  #putRight(collection: string): void {
    if (!this.#mend || this.#mending.has(collection)) return;
    this.#mending.add(collection);
    const done = (): void => void this.#mending.delete(collection);
    this.#db.command({ validate: collection }).then(done, done);
  }
}

/** The identity of a server by its answer to `hello`. @param ours an engine of this process, which lives as long as it */
export function serverIdentity(db: Db, ours: boolean): ServerIdentity {
  return async () => {
    if (ours) return "ours";
    const hello = await db.admin().command({ hello: 1 });
    // Behind a router the number holds documents that are on their way between shards.
    if (hello.msg === "isdbgrid") return undefined;
    const process: unknown = hello.topologyVersion?.processId;
    return process === undefined ? undefined : String(process);
  };
}
