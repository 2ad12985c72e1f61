// Filters: names and operands -> a predicate, or a refusal with its path (contract 4.1).
import { describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import fc from "fast-check";
import type { ReadView } from "../permission/read-view.js";
import type { Predicate } from "./ast.js";
import { authorizeRead } from "./authorize-read.js";
import { bindFilter } from "./bind-filter.js";
import { bindQuery } from "./bind-query.js";
import { readerView, refusalOf, rootView, table } from "./library-fixture.js";
import { lowerList } from "./lower/read.js";

const bind = (filter: Json, { view = rootView, fromText = false, of = "books" } = {}): Predicate =>
  bindFilter(filter, table(of), { view, maxDepth: 3, fromText }, "filter");

const refusal = (filter: Json, view: ReadView = rootView): string => refusalOf(() => bind(filter, { view }));

/** A predicate as short text: what was understood, without the columns' details. */
function shown(predicate: Predicate): string {
  switch (predicate.kind) {
    case "and":
    case "or":
      return `${predicate.kind}(${predicate.of.map(shown).join(", ")})`;
    case "not":
      return `not(${shown(predicate.of)})`;
    case "test": {
      const { op, ...operand } = predicate.test;
      return [predicate.column.name, op, ...Object.values(operand).map((each) => JSON.stringify(each))].join(
        " ",
      );
    }
    case "related":
      return `${predicate.relation.name}(${shown(predicate.where)})`;
    case "exists":
      return `exists ${predicate.relation.name}`;
    default:
      return predicate.kind;
  }
}

describe("a filter", () => {
  it.each<[filter: Json, predicate: string]>([
    [{}, "always"],
    [{ pages: 5 }, "pages eq 5"],
    [{ pages: null }, "pages isNull"],
    [{ pages: { _gt: 1, _lt: 9 }, title: "a" }, 'and(and(pages gt 1, pages lt 9), title eq "a")'],
    [{ _and: [] }, "always"],
    [{ _or: [] }, "always"],
    [{ _or: [{ pages: 1 }, {}] }, "always"],
    [{ _not: { _and: [{ _not: {} }, { pages: 1 }] } }, "always"],
    [{ _and: [{}, { pages: 1 }] }, "pages eq 1"],
    [{ _not: { pages: 1, title: "a" } }, 'not(and(pages eq 1, title eq "a"))'],
    [{ author: { name: "Ann" } }, 'author(name eq "Ann")'],
    [{ author: { name: "Ann", born: 1 } }, 'author(and(name eq "Ann", born eq 1))'],
    [{ author: { _not: { mentor: { name: "B" } } } }, 'author(not(mentor(name eq "B")))'],
    [{ author: 5 }, "author(id eq 5)"],
    [{ author: { _neq: 5 } }, "author(not(id eq 5))"],
    [{ author: { _in: [1, 2], name: "A" } }, 'author(and(id in [1,2], name eq "A"))'],
    [{ author: null }, "not(exists author)"],
    [{ author: { _neq: null } }, "exists author"],
    [{ author: { _is_null: false } }, "exists author"],
    [{ author: { _is_not_null: false } }, "not(exists author)"],
    [{ author: { _is_not_null: true, name: "A" } }, 'and(exists author, author(name eq "A"))'],
    [{ author: { _in: [] } }, "never"],
    [{ author: { _not_in: [] } }, "always"],
    [{ author: { name: { _in: [] } } }, "author(never)"],
    [{ reviews: { _not_in: [] } }, "always"],
    [{ reviews: { _in: [] } }, "never"],
    [{ reviews: { _nin: [], stars: 5 } }, "reviews(stars eq 5)"],
    [{ reviews: {} }, "reviews(always)"],
    [{ reviews: { stars: { _in: [] } } }, "never"],
    [{ _not: { reviews: { stars: { _in: [] } } } }, "always"],
    [{ reviews: { stars: 5, text: { _contains: "x" } } }, 'reviews(and(stars eq 5, text contains "x"))'],
    [{ tags: { _is_null: true } }, "not(exists tags)"],
  ])("%j", (filter, predicate) => {
    expect(shown(bind(filter))).toBe(predicate);
  });

  it("of the bracket form takes its operands from text", () => {
    const filter = { pages: { _in: "1,2" }, author: { _is_null: "true" }, reviews: { stars: "5" } };
    expect(shown(bind(filter, { fromText: true }))).toBe(
      "and(pages in [1,2], not(exists author), reviews(stars eq 5))",
    );
  });

  it("resolves names to the catalog's own objects", () => {
    expect(bind({ pages: 5 })).toMatchObject({ column: table("books").columns.get("pages") });
    expect(bind({ author: null })).toMatchObject({
      of: { relation: table("books").relations.get("author") },
    });
  });
});

describe("a filter is refused", () => {
  it.each<[filter: Json, message: string]>([
    [[], 'filter: must be an object such as {"name":{"_eq":"Ann"}}, not a list'],
    ["x", 'filter: must be an object such as {"name":{"_eq":"Ann"}}, not text'],
    [{ titel: 1 }, 'filter.titel: unknown field "titel" on "books"; did you mean "title"?'],
    [{ pagse: 1 }, 'filter.pagse: unknown field "pagse" on "books"; did you mean "pages"?'],
    [{ xyz: 1 }, 'filter.xyz: unknown field "xyz" on "books"'],
    [{ authorId: 1 }, 'filter.authorId: unknown field "authorId" on "books"; did you mean "author"?'],
    [{ author: { nmae: 1 } }, 'filter.author.nmae: unknown field "nmae" on "authors"; did you mean "name"?'],
    [
      { "author.name": 1 },
      'filter.author.name: unknown field "author.name" on "books"; write {"author":{"name":…}}',
    ],
    [
      { author: { "mentor.mentor.name": 1 } },
      'filter.author.mentor.mentor.name: unknown field "mentor.mentor.name" on "authors"; write {"mentor":{"mentor":{"name":…}}}',
    ],
    [{ "title.name": 1 }, 'filter.title.name: unknown field "title.name" on "books"'],
    [{ "": 1 }, 'filter.: unknown field "" on "books"'],
    [{ title: {} }, 'filter.title: needs an operator, as in {"_eq":…}'],
    [
      { title: { _contain: "x" } },
      'filter.title._contain: unknown operator "_contain" on the string column "title"; did you mean "_contains"?',
    ],
    [
      { title: { eq: "x" } },
      'filter.title.eq: unknown operator "eq" on the string column "title"; did you mean "_eq"?',
    ],
    [
      { title: { _not: { _eq: 1 } } },
      'filter.title._not: _not stands around fields, as in {"_not":{"title":{…}}}',
    ],
    [{ _eq: 1 }, 'filter._eq: _eq stands inside a field, as in {"name":{"_eq":…}}'],
    [{ _or: {} }, "filter._or: must be a list of filters, not an object"],
    [{ _and: [{}, null] }, 'filter._and[1]: must be an object such as {"name":{"_eq":"Ann"}}, not null'],
    [{ _not: [] }, "filter._not: must be an object, not a list"],
    [{ _not: null }, "filter._not: must be an object, not null"],
    [{ pages: { _gt: "1" } }, 'filter.pages._gt: must be a whole number, not "1"'],
    [
      { author: { _gt: 1 } },
      'filter.author._gt: a relation does not take _gt; it takes _eq, _neq, _in, _not_in, _nin, _is_null, _is_not_null or fields of "authors"',
    ],
    [{ author: { _is_null: 1 } }, "filter.author._is_null: must be true or false, not a number"],
    [{ author: "x" }, 'filter.author: must be a whole number, not "x"'],
    [{ royalty: null }, "filter.royalty: an encrypted column can't be filtered by"],
    [
      { author: { mentor: { mentor: { mentor: {} } } } },
      "filter.author.mentor.mentor.mentor: goes through more than 3 relations",
    ],
  ])("%j", (filter, message) => {
    expect(refusal(filter)).toBe(message);
  });

  it("a name the caller may not know is refused like one that does not exist", () => {
    expect(refusal({ note: "x" }, readerView)).toBe('filter.note: unknown field "note" on "books"');
    expect(refusal({ noze: "x" }, readerView)).toBe('filter.noze: unknown field "noze" on "books"');
    expect(refusal({ reviews: { stars: 5 } }, readerView)).toBe(
      'filter.reviews: unknown field "reviews" on "books"',
    );
    expect(refusal({ noze: "x" })).toBe('filter.noze: unknown field "noze" on "books"; did you mean "note"?');
    for (const name of ["reviews.stars", "rewievs.stars"])
      expect(refusal({ [name]: 5 }, readerView)).toBe(`filter.${name}: unknown field "${name}" on "books"`);
  });

  it.each<[filter: Json, message: string]>([
    [
      { the_json: { k: "v" } },
      'filter.the_json.k: unknown operator "k" on the json column "the_json"; a json column can only be compared with null',
    ],
    [
      { "the_json.k": "v" },
      'filter.the_json.k: unknown field "the_json.k" on "samples"; a json column can only be compared with null',
    ],
    [
      { the_json: { _eqq: 1 } },
      'filter.the_json._eqq: unknown operator "_eqq" on the json column "the_json"; did you mean "_eq"?',
    ],
  ])("what is inside of JSON can't be compared: %j", (filter, message) => {
    expect(refusalOf(() => bind(filter, { of: "samples" }))).toBe(message);
  });

  it("a + of an address that has become a space is told as such", () => {
    const time = "2021-01-01T00:00:00 02:00";
    const hint = "(a + in an address is a space; write %2B)";
    for (const fromText of [true, false])
      expect(refusalOf(() => bind({ the_datetime: { _gt: time } }, { of: "samples", fromText }))).toBe(
        `filter.the_datetime._gt: must be an ISO 8601 time with its offset, in the years 0000 to 9999 of UTC, such as "2024-05-31T12:00:00Z", not "${time}" ${hint}`,
      );
    expect(refusalOf(() => bind({ the_float: "1e 5" }, { of: "samples", fromText: true }))).toBe(
      `filter.the_float: must be a number, not "1e 5" ${hint}`,
    );
    for (const [name, text] of [
      ["the_datetime", "2021-01-01 00:00:00"],
      ["the_datetime", "2021-01-01T00:00:00 2 "],
      ["the_int", "1 2"],
    ] as const)
      expect(refusalOf(() => bind({ [name]: text }, { of: "samples", fromText: true }))).toMatch(
        /not "[^"]+"$/,
      );
  });

  it("beyond 100 comparisons, tests for related records included", () => {
    const many = (count: number, each: Json): Json => ({ _or: Array<Json>(count).fill(each) });
    for (const each of [{ pages: 1 }, { author: null }, { author: {} }, { reviews: { _and: [] } }]) {
      expect(() => bind(many(100, each))).not.toThrow();
      expect(refusal(many(101, each))).toMatch(
        /^filter\._or\[100\].*: the filter has more than 100 comparisons$/,
      );
    }
  });

  it("beyond 10 nested logic nodes, in relations too", () => {
    const nest = (levels: number): Json => (levels === 0 ? { name: "x" } : { _not: nest(levels - 1) });
    expect(() => bind({ author: nest(10) })).not.toThrow();
    expect(refusal({ author: nest(11) })).toBe(
      `filter.author${"._not".repeat(11)}: nests deeper than 10 levels`,
    );
  });
});

/** JSON that is nearly a filter: known names and operators in any place, and anything in between. */
const nearFilter: fc.Arbitrary<Json> = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(
      fc.constantFrom<Json[]>(null, true, 5, 1.5, "x", "$title", "65a000000000000000000000", [], {}),
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    ),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(
      fc.oneof(
        fc.constantFrom(
          "_and",
          "_or",
          "_not",
          "_eq",
          "_neq",
          "_in",
          "_not_in",
          "_between",
          "_contains",
          "_is_null",
        ),
        fc.constantFrom(
          "title",
          "pages",
          "price",
          "author",
          "mentor",
          "tags",
          "reviews",
          "stars",
          "name",
          "id",
        ),
        fc.constantFrom("$where", "$expr", "__proto__", "constructor", "$gt", "_id", "authorId"),
        fc.string({ maxLength: 3 }),
      ),
      tie("json"),
      { maxKeys: 3 },
    ),
  ),
})).json;

/** Every key of a pipeline, with where it stands. */
function keysOf(value: unknown, inPredicate: boolean, found: [key: string, inPredicate: boolean][] = []) {
  if (Array.isArray(value)) for (const each of value) keysOf(each, inPredicate, found);
  else if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    for (const [key, inner] of Object.entries(value)) {
      found.push([key, inPredicate]);
      // Below a field name come operators of that field; logic nodes hold predicates again.
      keysOf(inner, key.startsWith("$"), found);
    }
  }
  return found;
}

const STAGES = ["$match", "$lookup", "$sort", "$limit", "$project", "$skip"];
const TESTS = [
  "$and",
  "$or",
  "$eq",
  "$ne",
  "$in",
  "$nin",
  "$lt",
  "$lte",
  "$gt",
  "$gte",
  "$regex",
  "$not",
  "$type",
];
/** What stands in the place of no link. */
const NO_LINK = ["$set", "$ifNull", "$literal", "$none"];
const LOOKUP = ["from", "localField", "foreignField", "pipeline", "as"];
const FIELDS = new Set(
  ["books", "authors", "reviews", "tags"].flatMap((name) => [
    ...[...table(name).columns.values()].map(({ field }) => field),
    ...[...table(name).relations.values()].map(({ link }) => link.field),
  ]),
);

describe("any JSON at all", () => {
  it("is bound or refused, and what is lowered holds names and operators of ours alone", () => {
    let lowered = 0;
    fc.assert(
      fc.property(fc.oneof(nearFilter, fc.jsonValue() as fc.Arbitrary<Json>), (filter) => {
        const parameters = { filter, fields: "id", filterFromText: false };
        const limits = { maxDepth: 3, maxLimit: undefined };
        let pipeline: unknown;
        try {
          const query = bindQuery(parameters, table("books"), rootView, limits);
          pipeline = lowerList(authorizeRead(query, rootView));
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          return;
        }
        lowered += 1;
        for (const [key, inPredicate] of keysOf(pipeline, false)) {
          const ours =
            [...STAGES, ...TESTS, ...NO_LINK, ...LOOKUP].includes(key) ||
            FIELDS.has(key) ||
            /^__(\d+|r_\w+)$/.test(key);
          expect([key, ours]).toEqual([key, true]);
          expect([key, inPredicate && key === "$not"]).toEqual([key, false]);
        }
      }),
      { numRuns: 2_000 },
    );
    // A property that never came past the binding would prove nothing.
    expect(lowered).toBeGreaterThan(20);
  });
});
