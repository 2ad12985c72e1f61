// The bracket form of a filter -> the JSON form.
import { describe, expect, it } from "@jest/globals";
import { refusalOf } from "../library-fixture.js";
import { parseBrackets } from "./bracket.js";

describe("the bracket form", () => {
  it.each<[pairs: [string, string][], filter: unknown]>([
    [[["filter[author][name][_eq]", "Ann"]], { author: { name: { _eq: "Ann" } } }],
    [[["filter[pages]", "5"]], { pages: "5" }],
    [
      [
        ["filter[pages][_gt]", "1"],
        ["filter[pages][_lt]", "9"],
      ],
      { pages: { _gt: "1", _lt: "9" } },
    ],
    [
      [
        ["filter[_or][1][a]", "2"],
        ["filter[_or][0][a]", "1"],
      ],
      { _or: [{ a: "1" }, { a: "2" }] },
    ],
    [[["filter[id][_in]", "1,2"]], { id: { _in: "1,2" } }],
    [
      [
        ["filter[id][_in][0]", "a,b"],
        ["filter[id][_in][1]", ""],
      ],
      { id: { _in: ["a,b", ""] } },
    ],
    [[["filter[_and][0][_not][a]", "x"]], { _and: [{ _not: { a: "x" } }] }],
  ])("%j", (pairs, filter) => {
    expect(parseBrackets(pairs)).toEqual(filter);
  });

  it("keeps __proto__ a name", () => {
    const filter = parseBrackets([["filter[__proto__][isRootAdmin]", "1"]]);
    expect(Object.keys(filter ?? {})).toEqual(["__proto__"]);
    expect({}).not.toHaveProperty("isRootAdmin");
  });

  it.each<[keys: string[], message: string]>([
    [["filter[a"], 'filter: "filter[a" is malformed; write filter[field][_operator]=value'],
    [["filter[a]b"], 'filter: "filter[a]b" is malformed; write filter[field][_operator]=value'],
    [["filter[a][]"], 'filter: "filter[a][]" is malformed; write filter[field][_operator]=value'],
    [["filter[[a]]"], 'filter: "filter[[a]]" is malformed; write filter[field][_operator]=value'],
    [
      [`filter${"[a]".repeat(41)}`],
      `filter: "filter${"[a]".repeat(19)}[" is malformed; write filter[field][_operator]=value`,
    ],
    [["filter[a]", "filter[a]"], 'filter: "filter[a]" is given twice'],
    [["filter[a]", "filter[a][b]"], 'filter: "filter[a][b]" is given twice'],
    [["filter[a][b]", "filter[a]"], 'filter: "filter[a]" is given twice'],
    [["filter[_or][1][a]"], "filter: the members of _or are numbered [0], [1], … without gaps"],
    [["filter[_or][x][a]"], "filter: the members of _or are numbered [0], [1], … without gaps"],
    [["filter[_or][00][a]"], "filter: the members of _or are numbered [0], [1], … without gaps"],
  ])("refuses %j", (keys, message) => {
    expect(refusalOf(() => parseBrackets(keys.map((key) => [key, "x"])))).toBe(message);
  });
});
