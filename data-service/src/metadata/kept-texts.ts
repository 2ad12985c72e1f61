// What describes the API, as it is sent. With many tables it takes long to write, and anybody may ask for it, so it is kept
// for all to whom the same is said.
import { LRUCache } from "lru-cache";
import { getOrMake } from "../get-or-make.js";

const MOST_BYTES = 32 * 1024 * 1024;

export class KeptTexts {
  readonly #texts: LRUCache<string, Buffer>;
  /** Texts are kept by these, so that they keep nothing alive of what they were made of. */
  readonly #numbers = new WeakMap<object, { readonly number: number }>();
  #last = 0;

  /** @param mostBytes of all texts together; those not asked for longest are dropped first */
  constructor(mostBytes = MOST_BYTES) {
    const sizeCalculation = (text: Buffer, key: string): number => text.byteLength + key.length;
    this.#texts = new LRUCache({ maxSize: mostBytes, sizeCalculation });
  }

  /**
   * @param sources objects on which the text depends, and which never change: others stand in their place then
   * @param more everything else on which it depends
   */
  of(sources: readonly object[], more: readonly string[], write: () => string): Buffer {
    const numbers = sources.map((each) => getOrMake(this.#numbers, each, () => ({ number: ++this.#last })));
    const key = JSON.stringify([...numbers.map(({ number }) => number), ...more]);
    return getOrMake<string, Buffer>(this.#texts, key, () => Buffer.from(write()));
  }
}
