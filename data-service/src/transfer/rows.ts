// A row of an imported file, whatever its format.
import type { Json } from "@portico/shared/json";

export interface Row {
  /** The line of the file on which it begins; the first is 1. */
  readonly line: number;
  /** About how many bytes of memory it takes. */
  readonly size: number;
  /** The body as a POST would take it; undefined when the row can't be read. */
  readonly body: Json | undefined;
  /** Why it, or part of it, can't be read. */
  readonly problems: readonly string[];
  /** Members that can't be read and are missing in the body. */
  readonly unread?: readonly string[];
  /** Nothing after it can be read either. */
  readonly isLast?: boolean;
}

/** What a value takes besides its text, roughly. */
const VALUE = 16;

/** About how many bytes of memory a text takes with the values that it stands for: short ones take far more than their text. */
export function weightOf(text: string): number {
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    // One of these stands before each value of JSON that is inside another.
    if (sign === "," || sign === "[" || sign === "{") values += 1;
  }
  return text.length + VALUE * values;
}

/** How many messages about one line an answer reports. */
export const MOST_MESSAGES = 20;

/** A row that ends the reading. */
export function unreadable(line: number, problem: string): Row {
  return { line, size: 0, body: undefined, problems: [problem], isLast: true };
}
