// The ids that this process is working on: whoever looks for abandoned work leaves these alone, however long they take.
import type { ObjectId } from "bson";

/** Its 24 hex digits are equivalent. */
type Id = ObjectId | string;

export class UnderWay {
  readonly #ids = new Set<string>();

  has(id: Id): boolean {
    return this.#ids.has(String(id));
  }

  /** Does the work for this id; nobody else here works on the same id meanwhile. */
  async while<Result>(id: Id, work: () => Promise<Result>): Promise<Result> {
    this.#ids.add(String(id));
    try {
      return await work();
    } finally {
      this.#ids.delete(String(id));
    }
  }
}
