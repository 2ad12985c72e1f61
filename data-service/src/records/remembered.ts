// What was made of a request's words before. A view belongs to one catalog and one set of rules, so the same words,
// looked up through the same view, always come to the same; with either of them it is forgotten.
import type { ReadView } from "../permission/read-view.js";

/** Of each view; beyond it, it begins anew. */
const MOST = 200;
/** Longer ones are seldom asked twice. */
const MOST_CHARACTERS = 2_000;

export class Remembered<Result> {
  readonly #byView = new WeakMap<ReadView, Map<string, Result>>();

  /**
   * @param words all that the result depends on besides the view, as JSON
   * @param make pure; what it throws is not kept
   */
  of(view: ReadView, words: readonly unknown[], make: () => Result): Result {
    const key = JSON.stringify(words);
    if (key.length > MOST_CHARACTERS) return make();
    const known = this.#byView.get(view) ?? new Map<string, Result>();
    const before = known.get(key);
    if (before !== undefined) return before;
    const result = make();
    if (known.size >= MOST) known.clear();
    known.set(key, result);
    this.#byView.set(view, known);
    return result;
  }
}
