// What combined predicates come to: by Kleene's tables for true, false and unknown, as SQL has them.
import { describe, expect, it } from "@jest/globals";
import { ALWAYS, type Constant, NEVER, UNKNOWN } from "./ast.js";
import { conjunction, disjunction, negation } from "./logic.js";

const CONSTANTS = [ALWAYS, NEVER, UNKNOWN];
/** True for some records and false for others. */
const OPEN = { kind: "open" } as const;
const PAIRS = CONSTANTS.flatMap((one) => CONSTANTS.map((other): [Constant, Constant] => [one, other]));
/** False < unknown < true: "and" is the least of them, "or" the greatest. */
const ORDER = [NEVER.kind, UNKNOWN.kind, ALWAYS.kind];

describe("predicates combined", () => {
  it.each(PAIRS)("%j and %j, or the one or the other", (one, other) => {
    const ranks = [one, other].map(({ kind }) => ORDER.indexOf(kind)).sort();
    const orUndecided = (kind: string | undefined, combined: string): unknown[] => [
      { kind },
      { kind: combined, of: [one, other] },
    ];
    expect(orUndecided(ORDER[ranks[0] ?? 0], "and")).toContainEqual(conjunction([one, other]));
    expect(orUndecided(ORDER[ranks[1] ?? 0], "or")).toContainEqual(disjunction([one, other]));
  });

  it("leave out what says nothing beside others", () => {
    expect(conjunction([ALWAYS, OPEN])).toEqual(OPEN);
    expect(disjunction([OPEN, NEVER])).toEqual(OPEN);
    expect(conjunction([OPEN, UNKNOWN, ALWAYS])).toEqual({ kind: "and", of: [OPEN, UNKNOWN] });
  });

  it("are decided by one that decides", () => {
    expect(conjunction([OPEN, NEVER, UNKNOWN])).toEqual(NEVER);
    expect(disjunction([UNKNOWN, OPEN, ALWAYS])).toEqual(ALWAYS);
  });

  it("of none: all of them hold, and not one of them does", () => {
    expect(conjunction([])).toEqual(ALWAYS);
    expect(disjunction([])).toEqual(NEVER);
  });

  it("turn into their opposite, but for what is unknown", () => {
    expect([ALWAYS, NEVER, UNKNOWN].map(negation)).toEqual([NEVER, ALWAYS, UNKNOWN]);
    expect(negation(OPEN)).toEqual({ kind: "not", of: OPEN });
  });
});
