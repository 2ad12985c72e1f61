// Text searches get a condition that an index can answer.
import { describe, expect, test } from "@jest/globals";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Column } from "../../catalog/catalog.js";
import { checkDefinition } from "../../catalog/check-definition.js";
import type { AuthorizedPredicate, Test } from "../ast.js";
import { matchStages } from "../lower/condition.js";
import { type Document, Names } from "../lower/document.js";
import { beginnings, rarestOf, rarityQuestion, searchesOf, withCandidates } from "./candidates.js";

const checked = checkDefinition(
  {
    name: "books",
    columns: [
      { name: "title", type: "string", searchable: true },
      { name: "isbn", type: "string", unique: true },
      { name: "plain", type: "string" },
      { name: "both", type: "string", unique: true, searchable: true },
    ],
  },
  { catalog: buildCatalog(0, [], []), systemPrefix: "svc_", newId: () => crypto.randomUUID() },
);
if (!checked.ok) throw new Error(checked.problems.join());
const books = buildCatalog(1, [checked.definition], []).tables.get("books");

function column(name: string): Column {
  const found = books?.columns.get(name);
  if (found === undefined) throw new Error(name);
  return found;
}

function where(name: string, test: Test): AuthorizedPredicate {
  return { kind: "test", column: column(name), test };
}

const contains = (text: string) => where("title", { op: "contains", text });
const not = (of: AuthorizedPredicate): AuthorizedPredicate => ({ kind: "not", of });
const match = (predicate: AuthorizedPredicate): Document | undefined =>
  matchStages([withCandidates(predicate)], new Names())[0];

/** The fields that an index is asked for, besides the field of the test. */
function lookedUp(predicate: AuthorizedPredicate): unknown[] {
  return JSON.stringify(match(predicate)).match(/"_g_title"/g) ?? [];
}

describe("candidates of a text search", () => {
  test("are the records with the grams, those with too many, and those not indexed yet; the pattern stays", () => {
    expect(match(contains("Abcde.g"))).toMatchObject({
      $match: {
        $and: [
          { _g_title: { $in: [null, "", { pattern: "^abcde", options: "" }] } },
          { _g_title: { $in: [null, "", { pattern: "^bcde\\.", options: "" }] } },
          { _g_title: { $in: [null, "", { pattern: "^cde\\.g", options: "" }] } },
          { title: { $regex: { pattern: "Abcde\\x{2e}g|A(?!)", options: "i" } } },
        ],
      },
    });
  });

  test.each<[string, AuthorizedPredicate]>([
    ["two letters", contains("ab")],
    ["an empty text", contains("")],
    ["a column that is not searchable", where("plain", { op: "contains", text: "abc" })],
    ["a negated search", not(contains("abc"))],
    ["a negated or of searches", not({ kind: "or", of: [contains("abc"), contains("def")] })],
    ["equality", where("title", { op: "eq", value: "abc" })],
  ])("are not looked up for %s", (_, predicate) => {
    expect(lookedUp(predicate)).toHaveLength(0);
  });

  test.each<[string, AuthorizedPredicate, number]>([
    ["a search at the end", where("title", { op: "endsWith", text: "abc" }), 1],
    ["a search at the beginning", where("title", { op: "startsWith", text: "abc" }), 1],
    ["a search negated twice", not(not(contains("abc"))), 1],
    ["every branch of an or", { kind: "or", of: [contains("abc"), contains("def")] }, 2],
  ])("are looked up for %s", (_, predicate, count) => {
    expect(lookedUp(predicate)).toHaveLength(count);
  });

  test("of a beginning come from the column's own index, in every case", () => {
    const patterns = ["^A\\.", "^a\\."].map((pattern) => ({ pattern, options: "" }));
    expect(match(where("isbn", { op: "startsWith", text: "a." }))).toMatchObject({
      $match: { $and: [{ isbn: { $in: patterns } }, { isbn: { $regex: {} } }] },
    });
    expect(lookedUp(where("both", { op: "startsWith", text: "abc" }))).toEqual([]);
  });
});

describe("the rarest gram", () => {
  const search = contains("abcdefgh");
  if (search.kind !== "test") throw new Error(search.kind);
  const counts = (...records: number[]) =>
    ["abcde", "bcdef", "cdefg", "defgh"].flatMap((_id, at) => {
      const found = records[at] ?? 0;
      return found === 0 ? [] : [{ _id, records: found }];
    });

  test("is counted for searches with several, where they must be true and no relation is between", () => {
    const both: AuthorizedPredicate = {
      kind: "and",
      of: [search, not(search), contains("abc"), not(not(search))],
    };
    expect(searchesOf(both)).toEqual([search, search]);
  });

  test("is asked for in one pipeline, each gram up to a bound", () => {
    expect(rarityQuestion(search, "books")).toHaveLength(3 + 3);
    expect(rarityQuestion(search, "books").slice(0, 2)).toEqual([
      { $match: { _g_title: { pattern: "^abcde", options: "" } } },
      { $limit: 2000 },
    ]);
  });

  test.each<[string, number[], string[]]>([
    ["the one with the fewest records", [2000, 30, 20, 2000], ["cdefg"]],
    ["one without any", [5, 0, 3, 9], ["bcdef"]],
    [
      "a few to be tried where all are too many to be counted",
      [2000, 2000, 2000, 2000],
      ["abcde", "cdefg", "defgh"],
    ],
  ])("is %s", (_, records, expected) => {
    expect(rarestOf(search, counts(...records))).toEqual(expected);
  });

  test("is the only one looked up", () => {
    const found = withCandidates(search, new Map([[search, ["cdefg"]]]));
    expect(found).toMatchObject({ kind: "and", of: [{ values: [null, ""], prefixes: ["cdefg"] }, search] });
  });
});

describe("beginnings", () => {
  test("are as long as they stay few", () => {
    expect(beginnings("amara")).toHaveLength(16);
    expect(beginnings("2024-05-31")).toEqual(["2024-05-31"]);
    expect(beginnings("k")).toEqual(["K", "k", "\u212a"]);
    expect(beginnings("")).toEqual([]);
  });

  test("end before what can't stand in a pattern", () => {
    expect(beginnings("1\u00002")).toEqual(["1"]);
  });

  test("are none when a single letter has too many cases", () => {
    expect(beginnings("\u019ba")).toEqual([]);
  });
});
