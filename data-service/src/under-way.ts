// What this process works on, by ids: however long it takes, nothing that looks for work that was left behind takes it.
import type { ObjectId } from "bson";

/** Its 24 hex digits mean the same. */
type Id = ObjectId | string;

export class UnderWay {
  readonly #ids = new Set<string>();

  has(id: Id): boolean {
    return this.#ids.has(String(id));
  }

  /** Does work that has this id, which nobody else here has at the same time. */
  async while<Result>(id: Id, work: () => Promise<Result>): Promise<Result> {
    this.#ids.add(String(id));
    try {
      return await work();
    } finally {
      this.#ids.delete(String(id));
    }
  }
}
