// Patterns of a definition: whether they can be compiled, and to how much. Compiling takes time, and matching memory and more
// time, by the number of steps that a pattern becomes: `(abc?){1000}` becomes thousands.
import type { Json } from "@portico/shared/json";
import type { TableDefinition } from "./definition.js";
import { compilePattern } from "./rules.js";

const MAX_PATTERN_LENGTH = 500;
/** `^.{1,1000}$` has two thousand. */
const MOST_STEPS = 5_000;
/** Of all different patterns that a table has not yet, beside their steps: classes of letters take long to compile as well. */
const MOST_NEW_CHARACTERS = 10_000;
const MOST_NEW_STEPS = 100_000;

/** The patterns of one definition. Those that the table has already are let pass as they are. */
export class PatternCheck {
  readonly #known: Set<unknown>;
  #characters = 0;
  #steps = 0;

  constructor(existing: TableDefinition | undefined) {
    this.#known = new Set(existing?.columns.map(({ rules }) => rules?.pattern));
  }

  /** @returns what is wrong with it, worded to follow its path */
  problem(value: Json): string | undefined {
    if (typeof value !== "string" || value.length > MAX_PATTERN_LENGTH)
      return `must be a regular expression of at most ${MAX_PATTERN_LENGTH} characters`;
    if (this.#known.has(value)) return undefined;
    this.#characters += value.length;
    if (this.#characters > MOST_NEW_CHARACTERS || this.#steps > MOST_NEW_STEPS)
      return `is too much: new patterns may have ${MOST_NEW_CHARACTERS} characters and ${MOST_NEW_STEPS} steps together`;
    try {
      const steps = compilePattern(value).programSize();
      this.#steps += steps;
      if (steps > MOST_STEPS) return `has ${steps} steps, where x{100} has 100; the most is ${MOST_STEPS}`;
    } catch (error) {
      // RE2 has no look-around and no back-references, which is why it is linear.
      return `is not a regular expression in RE2 syntax (${error instanceof Error ? error.message : "unreadable"})`;
    }
    this.#known.add(value);
    return undefined;
  }
}
