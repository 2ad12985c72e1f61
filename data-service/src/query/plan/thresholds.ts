// Where one way to run a query becomes cheaper than the other. Measured on the embedded engine; settings change them, and
// tests set them to 0 to try every way.

export interface Thresholds {
  /** Up to this many matching records on the other side, a relation in a filter is replaced by their keys. */
  readonly maxKeys: number;
  /** Up to this many parents, children are looked up for each; for more, they are grouped once. */
  readonly fewParents: number;
  /** How many children to look at per record when sorting by the greatest or least child; 0 = always rank all parents. */
  readonly windowChildren: number;
}

export const THRESHOLDS: Thresholds = { maxKeys: 5_000, fewParents: 200, windowChildren: 40 };

/**
 * Up to this many keys say where the records are that a row rule lets pass. It is asked for every list, also where the rule
 * lets nearly all of them pass and a page is full at once; so less is spent on it than on a filter that somebody wrote.
 */
export const MOST_RULE_KEYS = 1_000;
