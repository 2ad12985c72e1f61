// Remembers what a request's parameters were bound to, per view. A view belongs to one catalog and one set of rules, so
// the same words looked up through the same view always give the same result; it is forgotten with the view.
import { beside } from "@portico/shared/beside";
import { LRUCache } from "lru-cache";
import type { ReadView } from "../../permission/read-view.js";

/** The most for each view; beyond it, the oldest is forgotten. */
const MOST = 100;
/** Longer ones are seldom repeated, and their results may be large. */
const MOST_CHARACTERS = 600;
/** How many questions count as asked lately, through whatever view: of an older one nothing would be kept when it returns. */
const MOST_ASKED = MOST;

export class Remembered<Result> {
  readonly #asked = new LRUCache<string, true>({ max: MOST_ASKED });
  /** Results hold on to their view, which may end with its request. */
  readonly #byView = beside<ReadView, Map<string, Result>>();

  /**
   * @param words everything that the result depends on besides the view, as JSON
   * @param make pure; if it throws, nothing is kept
   */
  of(view: ReadView, words: readonly unknown[], make: () => Result): Result {
    const key = exactly(words);
    if (key === undefined || key.length > MOST_CHARACTERS) return make();
    const before = this.#byView.get(view)?.get(key);
    if (before !== undefined) return before;
    const result = make();
    if (this.#isAskedAgain(key)) this.#keep(view, key, result);
    return result;
  }

  #keep(view: ReadView, key: string, result: Result): void {
    const known = this.#byView.get(view) ?? new Map<string, Result>();
    known.set(key, result);
    const [oldest] = known.size > MOST ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    this.#byView.set(view, known);
  }

  /** Most that is asked only once would be kept just long enough to be moved among what lives long. */
  #isAskedAgain(key: string): boolean {
    if (this.#asked.get(key)) return true;
    this.#asked.set(key, true);
    return false;
  }
}

/** As JSON; undefined where that has no word: numbers beyond all bounds, as 1e400 is read, would pass for null. */
function exactly(words: readonly unknown[]): string | undefined {
  let isExact = true;
  const text = JSON.stringify(words, (_name, value: unknown) => {
    isExact &&= typeof value !== "number" || Number.isFinite(value);
    return value;
  });
  return isExact ? text : undefined;
}
