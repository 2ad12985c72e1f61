// What this process works on, by the ids of its notes: however long it takes, repair takes none of it for left behind.
import type { ObjectId } from "bson";

export class UnderWay {
  readonly #ids = new Set<string>();

  has(id: ObjectId): boolean {
    return this.#ids.has(id.toHexString());
  }

  /** Does work that has this id, which nobody else here has at the same time. */
  async while<Result>(id: ObjectId, work: () => Promise<Result>): Promise<Result> {
    this.#ids.add(id.toHexString());
    try {
      return await work();
    } finally {
      this.#ids.delete(id.toHexString());
    }
  }
}
