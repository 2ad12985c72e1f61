// A row of an imported file, whatever its format.
import type { Json } from "@portico/shared/json";

export interface Row {
  /** The line of the file on which it begins; the first is 1. */
  readonly line: number;
  /** The approximate number of characters: how much it adds to a batch. */
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

/** How many messages about one line an answer reports. */
export const MOST_MESSAGES = 20;

/** A row that ends the reading. */
export function unreadable(line: number, problem: string): Row {
  return { line, size: 0, body: undefined, problems: [problem], isLast: true };
}
