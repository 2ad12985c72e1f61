// What is known of a predicate where nobody knows what some relations lead to.
import { describe, expect, it } from "@jest/globals";
import { ALWAYS, type AuthorizedPredicate, NEVER, UNKNOWN } from "./ast.js";
import { authorizePredicate } from "./authorize-read.js";
import { possibly, surely } from "./bounds.js";
import { leavesIn } from "./leaves.js";
import { column, rootView, step } from "./library-fixture.js";
import { isOnRelated } from "./lower/condition.js";

const own: AuthorizedPredicate = {
  kind: "test",
  column: column("authors.name"),
  test: { op: "eq", value: "Ann" },
};
const related = authorizePredicate({ kind: "related", ...step("authors.books"), where: ALWAYS }, rootView);
const exists = authorizePredicate({ kind: "exists", ...step("authors.books") }, rootView);
/** Its own link says so. */
const linked = authorizePredicate({ kind: "exists", ...step("books.author") }, rootView);
const not = (of: AuthorizedPredicate): AuthorizedPredicate => ({ kind: "not", of });
const all = (...of: AuthorizedPredicate[]): AuthorizedPredicate => ({ kind: "and", of });
const any = (...of: AuthorizedPredicate[]): AuthorizedPredicate => ({ kind: "or", of });

describe("where nobody knows what relations lead to", () => {
  it.each<[string, AuthorizedPredicate, AuthorizedPredicate, AuthorizedPredicate]>([
    ["a relation", related, NEVER, ALWAYS],
    ["that there is a related record", exists, NEVER, ALWAYS],
    ["that there is one, or none", any(exists, not(exists)), NEVER, ALWAYS],
    ["the opposite of a relation", not(related), NEVER, ALWAYS],
    ["the opposite of that", not(not(related)), NEVER, ALWAYS],
    ["something of its own and a relation", all(own, related), NEVER, own],
    ["one of both", any(own, related), own, ALWAYS],
    ["neither of both", not(any(own, related)), NEVER, not(own)],
    ["not both", not(all(own, related)), not(own), ALWAYS],
  ])("%s is surely and possibly true", (_what, predicate, sure, possible) => {
    expect([surely(predicate, isOnRelated), possibly(predicate, isOnRelated)]).toEqual([sure, possible]);
  });

  it.each<[string, AuthorizedPredicate]>([
    ["a test", own],
    ["its opposite", not(own)],
    ["both", all(own, not(own))],
    ["that it links to something", linked],
    ["what is always true", ALWAYS],
    ["what never is", NEVER],
    ["what is unknown of every record", UNKNOWN],
  ])("%s is as it is", (_what, alone) => {
    expect([surely(alone, isOnRelated), possibly(alone, isOnRelated)]).toEqual([alone, alone]);
    expect(leavesIn(alone).filter(isOnRelated)).toEqual([]);
  });

  it("a test of its own may be what nobody knows, and nothing else", () => {
    const isUnknown = (condition: AuthorizedPredicate): boolean => condition === own;
    expect(surely(all(related, not(own)), isUnknown)).toBe(NEVER);
    expect(possibly(all(related, not(own)), isUnknown)).toBe(related);
    expect([surely(UNKNOWN, isUnknown), possibly(not(UNKNOWN), isUnknown)]).toEqual([UNKNOWN, UNKNOWN]);
  });

  it("the other relations still say what they do", () => {
    const isUnknown = (condition: AuthorizedPredicate): boolean => condition === exists;
    expect(possibly(all(related, exists), isUnknown)).toEqual(related);
    expect(leavesIn(any(own, not(all(related, exists)))).filter(isOnRelated)).toEqual([related, exists]);
  });
});
