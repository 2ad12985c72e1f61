// Contract 4.1 beyond single operators: three-valued logic, relations, logic nodes, and every refusal.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Library, startLibrary } from "./library.js";

let library: Library;
/** The same tables where every relation in a filter is joined, never asked for its keys first. */
let joining: Library;

beforeAll(async () => {
  [library, joining] = await Promise.all([
    startLibrary(),
    startLibrary({ env: { QUERY_PLAN_MAX_KEYS: "0" } }),
  ]);
});

afterAll(() => Promise.all([library.stack.stop(), joining.stack.stop()]));

const ALL = [1, 2, 3, 4, 5, 6];

type Case = readonly [sentence: string, filter: unknown, whenTrue: number[], whenFalse: number[]];

/** Ids that a filter matches, and those that its `_not` matches; for all others it is unknown. */
function isThreeValued(cases: readonly Case[]): void {
  it.each(cases)("%s: %j", async (_sentence, filter, whenTrue, whenFalse) => {
    for (const road of [library, joining]) {
      expect(await road.books(filter)).toEqual(whenTrue);
      expect(await road.books({ _not: filter })).toEqual(whenFalse);
    }
    expect(await library.books({ _not: { _not: filter } })).toEqual(whenTrue);
  });
}

describe("a comparison with null is unknown, and so is its _not", () => {
  isThreeValued([
    ["equal", { pages: { _eq: 200 } }, [2, 3], [1, 5]],
    ["equal, short", { pages: 200 }, [2, 3], [1, 5]],
    ["not equal", { pages: { _neq: 200 } }, [1, 5], [2, 3]],
    ["greater", { pages: { _gt: 100 } }, [2, 3, 5], [1]],
    ["at least", { pages: { _gte: 200 } }, [2, 3, 5], [1]],
    ["less", { pages: { _lt: 200 } }, [1], [2, 3, 5]],
    ["at most", { pages: { _lte: 200 } }, [1, 2, 3], [5]],
    ["in", { pages: { _in: [100, 300] } }, [1, 5], [2, 3]],
    ["not in", { pages: { _not_in: [100] } }, [2, 3, 5], [1]],
    ["between", { pages: { _between: [100, 200] } }, [1, 2, 3], [5]],
    ["contains", { subtitle: { _contains: "o" } }, [1, 2, 4], [5]],
    ["starts with", { subtitle: { _starts_with: "ei" } }, [4], [1, 2, 5]],
    ["ends with", { subtitle: { _ends_with: "a" } }, [1], [2, 4, 5]],
    ["member of a list", { formats: { _contains: "paper" } }, [1, 2], [3]],
    ["a boolean", { inPrint: true }, [1, 3], [2]],
    ["an enum", { status: "draft" }, [3, 5], [1, 2]],
    ["two operators of one field", { pages: { _gte: 200, _lt: 300 } }, [2, 3], [1, 5]],
  ]);
});

describe("null tests are never unknown", () => {
  isThreeValued([
    ["is null", { pages: { _is_null: true } }, [4, 6], [1, 2, 3, 5]],
    ["is null, false", { pages: { _is_null: false } }, [1, 2, 3, 5], [4, 6]],
    ["is not null", { pages: { _is_not_null: true } }, [1, 2, 3, 5], [4, 6]],
    ["is not null, false", { pages: { _is_not_null: false } }, [4, 6], [1, 2, 3, 5]],
    ["null, short", { pages: null }, [4, 6], [1, 2, 3, 5]],
    ["_eq null", { pages: { _eq: null } }, [4, 6], [1, 2, 3, 5]],
    ["_neq null", { pages: { _neq: null } }, [1, 2, 3, 5], [4, 6]],
    ["the empty text is not null", { subtitle: { _is_null: true } }, [3, 6], [1, 2, 4, 5]],
    ["the empty list is not null", { formats: { _is_null: true } }, [4, 5, 6], [1, 2, 3]],
    ["a list with a null in it is not null", { extra: { _is_null: true } }, [2, 4, 5, 6], [1, 3]],
  ]);
});

describe("an empty list or object is true or false, not unknown", () => {
  isThreeValued([
    ["_in of nothing is false, for null too", { pages: { _in: [] } }, [], ALL],
    ["_not_in of nothing is true, for null too", { pages: { _not_in: [] } }, ALL, []],
    ["_nin of nothing is true, for null too", { pages: { _nin: [] } }, ALL, []],
    ["the empty filter is true", {}, ALL, []],
    ["the empty _and is true", { _and: [] }, ALL, []],
    ["the empty _or is true", { _or: [] }, ALL, []],
  ]);
});

describe("logic follows SQL's three-valued tables", () => {
  const TRUE = { id: { _gte: 1 } };
  const FALSE = { id: { _lt: 1 } };
  const UNKNOWN = { subtitle: { _eq: "x" }, pages: { _gt: 0 } }; // unknown for 6, where both are null
  const onlySix = async (filter: unknown): Promise<boolean> =>
    (await library.books({ id: 6, _and: [filter] })).length === 1;
  it.each([
    ["true AND true", { _and: [TRUE, TRUE] }, "true"],
    ["true AND false", { _and: [TRUE, FALSE] }, "false"],
    ["true AND unknown", { _and: [TRUE, UNKNOWN] }, "unknown"],
    ["false AND unknown", { _and: [FALSE, UNKNOWN] }, "false"],
    ["unknown AND unknown", { _and: [UNKNOWN, UNKNOWN] }, "unknown"],
    ["true OR false", { _or: [TRUE, FALSE] }, "true"],
    ["true OR unknown", { _or: [TRUE, UNKNOWN] }, "true"],
    ["false OR false", { _or: [FALSE, FALSE] }, "false"],
    ["false OR unknown", { _or: [FALSE, UNKNOWN] }, "unknown"],
    ["unknown OR unknown", { _or: [UNKNOWN, UNKNOWN] }, "unknown"],
    ["NOT true", { _not: TRUE }, "false"],
    ["NOT false", { _not: FALSE }, "true"],
    ["NOT unknown", { _not: UNKNOWN }, "unknown"],
    ["fields of one object are ANDed", { id: 6, pages: null, subtitle: "x" }, "unknown"],
  ])("%s", async (_name, filter, truth) => {
    expect([await onlySix(filter), await onlySix({ _not: filter })]).toEqual([
      truth === "true",
      truth === "false",
    ]);
  });

  isThreeValued([
    ["AND", { _and: [{ pages: 200 }, { status: "draft" }] }, [3], [1, 2, 5]],
    ["AND, spelled as one object", { pages: 200, status: "draft" }, [3], [1, 2, 5]],
    ["AND with one side false", { _and: [{ pages: 200 }, { price: { _gt: "999" } }] }, [], [1, 2, 3, 4, 5]],
    ["OR", { _or: [{ pages: 200 }, { price: { _gte: "10" } }] }, [1, 2, 3], []],
    ["OR beside a field", { status: "draft", _or: [{ pages: 200 }, { pages: 300 }] }, [3, 5], [1, 2]],
  ]);
});

describe("a to-one relation is unknown inside where there is no record", () => {
  isThreeValued([
    ["equal", { author: { name: { _eq: "Ann" } } }, [1, 2], [3, 4]],
    ["equal, short", { author: { name: "Ann" } }, [1, 2], [3, 4]],
    ["not equal", { author: { name: { _neq: "Ann" } } }, [3, 4], [1, 2]],
    ["null inside", { author: { email: { _is_null: true } } }, [3, 4], [1, 2]],
    ["not null inside", { author: { email: { _is_null: false } } }, [1, 2], [3, 4]],
    ["a null column of a record that is there", { author: { email: { _contains: "ann" } } }, [1, 2], []],
    ["a _not inside", { author: { _not: { name: "Ann" } } }, [3, 4], [1, 2]],
    ["an _or inside", { author: { _or: [{ name: "Ann" }, { birthYear: 1980 }] } }, [1, 2, 3, 4], []],
    ["an _and inside", { author: { _and: [{ name: "Bob" }, { birthYear: 1980 }] } }, [3, 4], [1, 2]],
    ["two hops", { author: { mentor: { name: "Ann" } } }, [3, 4], []],
    ["two hops, no such record", { author: { mentor: { name: "Bob" } } }, [], [3, 4]],
    ["no record at the second hop", { author: { mentor: { _is_null: true } } }, [1, 2], [3, 4]],
    ["through a one-to-one", { author: { profile: { bio: { _is_null: true } } } }, [3, 4], [1, 2]],
    ["to-many inside to-one", { author: { books: { title: "Storms" } } }, [1, 2], [3, 4]],
    ["none inside to-one", { author: { _not: { books: { title: "Storms" } } } }, [3, 4], [1, 2]],
    ["a required relation", { publisher: { name: "North" } }, [1, 3, 5], [2, 4, 6]],
    ["the related id as a field", { publisher: { id: { _gt: 1 } } }, [2, 4, 6], [1, 3, 5]],
  ]);
});

describe("operators directly on a to-one relation", () => {
  const cases = (): Case[] => {
    const { Ann, Bob } = library.authors;
    return [
      ["an id", { author: Ann }, [1, 2], [3, 4]],
      ["_eq", { author: { _eq: Ann } }, [1, 2], [3, 4]],
      ["_neq", { author: { _neq: Ann } }, [3, 4], [1, 2]],
      ["_in", { author: { _in: [Ann, Bob] } }, [1, 2, 3, 4], []],
      ["_in of nothing", { author: { _in: [] } }, [], ALL],
      ["_not_in", { author: { _not_in: [Ann] } }, [3, 4], [1, 2]],
      ["_nin", { author: { _nin: [Ann] } }, [3, 4], [1, 2]],
      ["_not_in of nothing", { author: { _not_in: [] } }, ALL, []],
      ["null", { author: null }, [5, 6], [1, 2, 3, 4]],
      ["_eq null", { author: { _eq: null } }, [5, 6], [1, 2, 3, 4]],
      ["_neq null", { author: { _neq: null } }, [1, 2, 3, 4], [5, 6]],
      ["_is_null", { author: { _is_null: true } }, [5, 6], [1, 2, 3, 4]],
      ["_is_null false", { author: { _is_null: false } }, [1, 2, 3, 4], [5, 6]],
      ["_is_not_null", { author: { _is_not_null: true } }, [1, 2, 3, 4], [5, 6]],
      ["_is_not_null false", { author: { _is_not_null: false } }, [5, 6], [1, 2, 3, 4]],
      ["an operator beside a field", { author: { _neq: Ann, name: "Bob" } }, [3, 4], [1, 2]],
      ["_eq on an int id", { publisher: { _eq: 1 } }, [1, 3, 5], [2, 4, 6]],
    ];
  };
  it.each(Array.from({ length: 17 }, (_, at) => at))("case %i of the table", async (at) => {
    const [sentence, filter, whenTrue, whenFalse] = cases()[at] ?? ["missing", {}, [], []];
    expect([sentence, await library.books(filter)]).toEqual([sentence, whenTrue]);
    expect([sentence, await library.books({ _not: filter })]).toEqual([sentence, whenFalse]);
  });

  it("the table has no more cases", () => expect(cases()).toHaveLength(17));
});

describe("a to-many relation means any, and is never unknown", () => {
  isThreeValued([
    ["any", { reviews: { stars: { _gte: 3 } } }, [1, 2, 3], [4, 5, 6]],
    ["parents never repeat", { reviews: { stars: { _gte: 1 } } }, [1, 2, 3], [4, 5, 6]],
    ["null inside", { reviews: { text: { _is_null: true } } }, [2], [1, 3, 4, 5, 6]],
    ["a _not inside needs a child", { reviews: { _not: { stars: 3 } } }, [1], [2, 3, 4, 5, 6]],
    [
      "one child satisfies the whole object",
      { reviews: { stars: 5, text: { _contains: "salty" } } },
      [],
      ALL,
    ],
    ["so too with an inner _and", { reviews: { _and: [{ stars: 5 }, { stars: 1 }] } }, [], ALL],
    [
      "two members of _and are met by different children",
      { _and: [{ reviews: { stars: 5 } }, { reviews: { stars: 1 } }] },
      [1],
      [2, 3, 4, 5, 6],
    ],
    ["an inner _or", { reviews: { _or: [{ stars: 5 }, { text: "Strange" }] } }, [1, 5], [2, 3, 4, 6]],
    ["to-one inside to-many", { reviews: { critic: { name: "Bob" } } }, [1, 5], [2, 3, 4, 6]],
    ["no record inside to-many", { reviews: { critic: { _is_null: true } } }, [3], [1, 2, 4, 5, 6]],
    ["many-to-many", { tags: { label: "sea" } }, [1, 2], [3, 4, 5, 6]],
    ["has none", { reviews: { _is_null: true } }, [4, 6], [1, 2, 3, 5]],
    ["has some", { reviews: { _is_not_null: true } }, [1, 2, 3, 5], [4, 6]],
    ["null = has none", { reviews: null }, [4, 6], [1, 2, 3, 5]],
    ["has no tag", { tags: { _is_null: true } }, [4, 6], [1, 2, 3, 5]],
    ["has a tag", { tags: { _neq: null } }, [1, 2, 3, 5], [4, 6]],
    ["has any tag", { tags: {} }, [1, 2, 3, 5], [4, 6]],
    ["a child's id", { reviews: 3 }, [2], [1, 3, 4, 5, 6]],
    ["_in ids", { reviews: { _in: [1, 2, 4] } }, [1, 3], [2, 4, 5, 6]],
    ["_in of nothing", { reviews: { _in: [] } }, [], ALL],
    ["_neq: any other child", { reviews: { _neq: 1 } }, [1, 2, 3, 5], [4, 6]],
    ["_not_in: any child outside", { reviews: { _not_in: [1, 3] } }, [1, 3, 5], [2, 4, 6]],
  ]);

  it("ids of a many-to-many relation", async () => {
    const { sea, war } = library.tags;
    expect(await library.books({ tags: sea })).toEqual([1, 2]);
    expect(await library.books({ tags: { _in: [sea, war] } })).toEqual([1, 2, 3]);
    expect(await library.books({ tags: { _neq: sea } })).toEqual([1, 3, 5]);
    expect(await library.books({ _not: { tags: { _eq: sea } } })).toEqual([3, 4, 5, 6]);
  });
});

describe("every kind of relation, from both ends", () => {
  const named = async (table: string, field: string, filter: unknown): Promise<unknown[]> => {
    const [rows, joined] = await Promise.all(
      [library, joining].map((road) => road.rows(table, { filter, fields: field, sort: field })),
    );
    expect(joined).toEqual(rows);
    return rows?.map((row) => row[field]) ?? [];
  };

  it.each<[string, string, unknown, string[]]>([
    ["authors", "name", { mentor: { name: "Ann" } }, ["Bob", "Dora"]],
    ["authors", "name", { mentor: { mentor: { name: "Ann" } } }, ["Cid"]],
    ["authors", "name", { mentor: null }, ["Ann"]],
    ["authors", "name", { pupils: { name: "Cid" } }, ["Bob"]],
    ["authors", "name", { pupils: { pupils: { name: "Cid" } } }, ["Ann"]],
    ["authors", "name", { pupils: { _is_null: true } }, ["Cid", "Dora"]],
    ["authors", "name", { profile: { bio: { _contains: "SEA" } } }, ["Ann"]],
    ["authors", "name", { _not: { profile: { bio: { _contains: "land" } } } }, ["Ann"]],
    ["authors", "name", { profile: { _is_null: true } }, ["Cid", "Dora"]],
    ["authors", "name", { profile: { _eq: 2 } }, ["Bob"]],
    ["authors", "name", { books: { publisher: { name: "South" } } }, ["Ann", "Bob"]],
    ["authors", "name", { books: { tags: { label: "war" } } }, ["Bob"]],
    ["authors", "name", { _not: { books: { _is_not_null: true } } }, ["Cid", "Dora"]],
    ["tags", "label", { books: { title: "Waves" } }, ["love", "sea"]],
    ["tags", "label", { books: { _is_null: true } }, ["unused"]],
    ["tags", "label", { books: { author: { name: "Bob" } } }, ["war"]],
    ["tags", "label", { _not: { books: { author: { name: "Ann" } } } }, ["unused", "war"]],
    ["publishers", "name", { books: { reviews: { stars: 5 } } }, ["North"]],
  ])("%s by %s where %j", async (table, field, filter, found) => {
    expect(await named(table, field, filter)).toEqual(found);
  });

  it("goes through seven relations and not through eight", async () => {
    const nest = (hops: number): unknown => (hops === 0 ? { name: "Ann" } : { mentor: nest(hops - 1) });
    expect(await named("authors", "name", nest(7))).toEqual([]);
    expect(await library.refusal("authors", { filter: nest(8) })).toBe(
      `filter${".mentor".repeat(8)}: goes through more than 7 relations`,
    );
  });
});

describe("a filter is refused with the place and the remedy", () => {
  it.each<[filter: unknown, message: string]>([
    [5, 'filter: must be an object such as {"name":{"_eq":"Ann"}}, not a number'],
    [[], 'filter: must be an object such as {"name":{"_eq":"Ann"}}, not a list'],
    [null, 'filter: must be an object such as {"name":{"_eq":"Ann"}}, not null'],
    [{ titel: "x" }, 'filter.titel: unknown field "titel" on "books"; did you mean "title"?'],
    [{ zzz: "x" }, 'filter.zzz: unknown field "zzz" on "books"'],
    [{ author: { nme: "x" } }, 'filter.author.nme: unknown field "nme" on "authors"; did you mean "name"?'],
    [
      { _and: [{ title: "x" }, { author: { mentor: { nmae: 1 } } }] },
      'filter._and[1].author.mentor.nmae: unknown field "nmae" on "authors"; did you mean "name"?',
    ],
    [{ authorId: 1 }, 'filter.authorId: unknown field "authorId" on "books"; did you mean "author"?'],
    [{ _id: 1 }, 'filter._id: unknown field "_id" on "books"; did you mean "id"?'],
    [
      { title: { _equals: "x" } },
      'filter.title._equals: unknown operator "_equals" on the string column "title"',
    ],
    [
      { title: { _containz: "x" } },
      'filter.title._containz: unknown operator "_containz" on the string column "title"; did you mean "_contains"?',
    ],
    [
      { title: { $gt: "" } },
      'filter.title.$gt: unknown operator "$gt" on the string column "title"; did you mean "_gt"?',
    ],
    [{ $where: "1" }, 'filter.$where: unknown field "$where" on "books"'],
    [{ title: {} }, 'filter.title: needs an operator, as in {"_eq":…}'],
    [{ title: ["a"] }, "filter.title: must be text, not a list"],
    [{ title: { _and: [] } }, 'filter.title._and: _and stands around fields, as in {"_and":[{"title":{…}}]}'],
    [{ _eq: 1 }, 'filter._eq: _eq stands inside a field, as in {"name":{"_eq":…}}'],
    [{ _and: {} }, "filter._and: must be a list of filters, not an object"],
    [{ _or: { 0: {}, length: 1 } }, "filter._or: must be a list of filters, not an object"],
    [{ _or: null }, "filter._or: must be a list of filters, not null"],
    [{ _or: [{}, "x"] }, 'filter._or[1]: must be an object such as {"name":{"_eq":"Ann"}}, not text'],
    [{ _not: [] }, "filter._not: must be an object, not a list"],
    [
      { author: { _gt: "x" } },
      'filter.author._gt: a relation does not take _gt; it takes _eq, _neq, _in, _not_in, _nin, _is_null, _is_not_null or fields of "authors"',
    ],
    [
      { reviews: { _contains: "x" } },
      'filter.reviews._contains: a relation does not take _contains; it takes _eq, _neq, _in, _not_in, _nin, _is_null, _is_not_null or fields of "reviews"',
    ],
    [{ reviews: "x" }, 'filter.reviews: must be a whole number, not "x"'],
    [{ reviews: { _in: 1 } }, "filter.reviews._in: must be a list, not a number"],
    [{ tags: { _eq: "x" } }, 'filter.tags._eq: must be 24 hexadecimal digits, not "x"'],
    [{ author: { _is_null: "yes" } }, "filter.author._is_null: must be true or false, not text"],
    [{ author: { _in: [null] } }, /^filter\.author\._in\[0\]: must be a UUID such as .*, not null$/],
    [{ royalty: "7 %" }, "filter.royalty: an encrypted column can't be filtered by"],
    [{ royalty: { _is_null: true } }, "filter.royalty._is_null: an encrypted column can't be filtered by"],
    [{ constructor: 1 }, 'filter.constructor: unknown field "constructor" on "books"'],
    [{ title: { toString: 1 } }, /^filter\.title\.toString: unknown operator "toString"/],
  ] as [unknown, string][])("%j", async (filter, message) => {
    const refusal = await library.refusal("books", { filter });
    if (typeof message === "string") expect(refusal).toBe(message);
    else expect(refusal).toMatch(message);
  });

  it("names the path in error.details too", async () => {
    const { body } = await library.list("books", { filter: { author: { nme: 1 } } });
    expect(body).toMatchObject({
      success: false,
      statusCode: 400,
      error: {
        code: "BAD_REQUEST",
        message: body.message,
        details: { path: "filter.author.nme" },
        path: "/api/books",
        method: "GET",
        correlationId: expect.stringMatching(/^[\w.:-]{1,128}$/),
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    });
  });

  it.each([
    ["title", "is not valid JSON"],
    ["{'title':'a'}", "is not valid JSON"],
    ['{"title":"a"', "is not valid JSON"],
    ["", "is not valid JSON"],
  ])("broken JSON: %s", async (text, problem) => {
    expect(await library.refusal("books", { filter: text })).toMatch(
      new RegExp(`^filter: ${problem}; .*quotes`),
    );
  });

  it("__proto__ is a name like any other unknown one", async () => {
    expect(await library.refusal("books", { filter: '{"__proto__":{"title":{"_eq":"x"}}}' })).toBe(
      'filter.__proto__: unknown field "__proto__" on "books"',
    );
    expect(await library.refusal("books", { filter: '{"author":{"__proto__":{"name":"x"}}}' })).toBe(
      'filter.author.__proto__: unknown field "__proto__" on "authors"',
    );
  });
});

describe("a filter's size is limited", () => {
  const many = (count: number, each: unknown): unknown => ({ _or: Array(count).fill(each) });
  const nest = (levels: number): unknown => (levels === 0 ? { id: 1 } : { _and: [nest(levels - 1)] });

  it.each<[name: string, fits: unknown, tooMuch: unknown, message: string]>([
    [
      "8,192 characters",
      `{"id":1.${"0".repeat(8_192 - 9)}}`,
      `{"id":1.${"0".repeat(8_192 - 8)}}`,
      "filter: is longer than 8192 characters",
    ],
    [
      "100 comparisons",
      many(100, { id: 1 }),
      many(101, { id: 1 }),
      "filter._or[100].id: the filter has more than 100 comparisons",
    ],
    [
      "10 nested logic nodes",
      nest(10),
      nest(11),
      `filter${"._and[0]".repeat(10)}._and: nests deeper than 10 levels`,
    ],
    [
      "1,000 members of a list",
      { id: { _in: Array(1_000).fill(1) } },
      { id: { _in: Array(1_001).fill(1) } },
      "filter.id._in: has more than 1000 members",
    ],
    [
      "1,024 characters of text",
      { title: { _neq: "x".repeat(1_024) }, id: 1 },
      { title: { _neq: "x".repeat(1_025) } },
      "filter.title._neq: is longer than 1024 characters",
    ],
    [
      "1,024 characters of a needle",
      { _not: { title: { _contains: "x".repeat(1_024) } }, id: 1 },
      { title: { _contains: "x".repeat(1_025) } },
      "filter.title._contains: is longer than 1024 characters",
    ],
  ])("%s", async (_name, fits, tooMuch, message) => {
    expect(await library.books(fits)).toEqual([1]);
    expect(await library.refusal("books", { filter: tooMuch })).toBe(message);
  });

  it("a test for a related record is a comparison too", async () => {
    for (const each of [{ author: null }, { reviews: {} }, { reviews: { _and: [] } }]) {
      expect(await library.refusal("books", { filter: many(101, each) })).toMatch(
        /^filter\._or\[100\]\.\w+: the filter has more than 100 comparisons$/,
      );
    }
  });

  it("hundreds of thousands of brackets are refused at once", async () => {
    const started = performance.now();
    const answer = await library.api.send("QUERY", "/books", {
      body: `{"filter":${"[".repeat(200_000)}${"]".repeat(200_000)}}`,
      headers: { "Content-Type": "application/json" },
    });
    expect([answer.status, answer.body.message]).toEqual([400, "body: nests deeper than 100 levels"]);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
