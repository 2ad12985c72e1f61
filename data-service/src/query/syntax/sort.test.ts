// The text of `sort` -> keys (contract 4.3).
import { describe, expect, it } from "@jest/globals";
import { refusalOf } from "../library-fixture.js";
import { parseSort } from "./sort.js";

describe("sort", () => {
  it("reads plain, descending, dotted and aggregate keys", () => {
    expect(parseSort("-pages, author.name,_count(reviews),-_max(reviews.stars),_min(a.b)", "sort")).toEqual([
      { kind: "path", segments: ["pages"], descending: true, text: "pages" },
      { kind: "path", segments: ["author", "name"], descending: false, text: "author.name" },
      { kind: "count", relation: "reviews", descending: false, text: "_count(reviews)" },
      { kind: "max", relation: "reviews", field: "stars", descending: true, text: "_max(reviews.stars)" },
      { kind: "min", relation: "a", field: "b", descending: false, text: "_min(a.b)" },
    ]);
  });

  it("takes a list of keys too", () => {
    expect(parseSort(["a", "-b"], "sort")).toEqual(parseSort("a,-b", "sort"));
  });

  it.each(["", "a,", "a,,b"])("refuses the empty key in %j", (text) => {
    expect(refusalOf(() => parseSort(text, "sort"))).toBe("sort: has an empty key");
  });

  it.each([
    ...[
      "-",
      "--a",
      "+a",
      "a b",
      "a.",
      ".a",
      "a..b",
      "$a",
      "a\0",
      "a;b",
      "1",
      "_count()",
      "_count(a.b)",
      "_max(a)",
    ],
    ...["_max(a.b.c)", "_avg(a.b)", "_count(a", "_count( a )", "-_count(-a)", "count(a)"],
  ])("refuses %j and says what a key looks like", (text) => {
    expect(refusalOf(() => parseSort(text, "deep.x.sort"))).toBe(
      `deep.x.sort: "${text}" is not a sort key; write name, -name, relation.name, _count(relation), _max(relation.field) or _min(relation.field)`,
    );
  });

  it.each([
    [5, "sort: must be keys separated by commas, not a number"],
    [null, "sort: must be keys separated by commas, not null"],
    [{}, "sort: must be keys separated by commas, not an object"],
    [["a", 5], "sort[1]: must be text, not a number"],
  ])("refuses %j, which is no text", (given, refusal) => {
    expect(refusalOf(() => parseSort(given, "sort"))).toBe(refusal);
  });

  it("takes 8 keys and not 9", () => {
    expect(parseSort("a,b,c,d,e,f,g,h", "sort")).toHaveLength(8);
    expect(refusalOf(() => parseSort("a,b,c,d,e,f,g,h,i", "sort"))).toBe("sort: has more than 8 keys");
  });
});
