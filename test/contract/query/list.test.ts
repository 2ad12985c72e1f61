// Contract 4.3 and 4.4: the order of a list, its page, its counts and its aggregates.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { created, type Library, startLibrary } from "./library.js";

let library: Library;
/** The same tables where children are grouped once for all parents instead of looked up for each. */
let grouping: Library;

beforeAll(async () => {
  [library, grouping] = await Promise.all([
    startLibrary(),
    startLibrary({ env: { QUERY_PLAN_FEW_PARENTS: "0" } }),
  ]);
  const { api } = library;
  await created(api, "svc_table", {
    name: "numbers",
    idType: "int",
    columns: [{ name: "value", type: "int" }],
  });
  await created(
    api,
    "numbers",
    Array.from({ length: 25 }, (_, at) => ({ value: at % 3 })),
  );
});

afterAll(() => Promise.all([library.stack.stop(), grouping.stack.stop()]));

const ids = (rows: { id: number }[]): number[] => rows.map(({ id }) => id);

describe("sort", () => {
  it.each<[sort: string, ids: number[], why: string]>([
    ["id", [1, 2, 3, 4, 5, 6], "by id"],
    ["-id", [6, 5, 4, 3, 2, 1], "by id, descending"],
    ["title", [3, 2, 1, 6, 5, 4], "text by code point: capitals, small letters, accents"],
    ["-title", [4, 5, 6, 1, 2, 3], "text, descending"],
    ["pages", [4, 6, 1, 2, 3, 5], "nulls first, ties by id"],
    ["-pages", [5, 2, 3, 1, 4, 6], "nulls last, ties by id ascending"],
    ["price", [5, 6, 2, 4, 1, 3], "decimals by value"],
    ["sold", [4, 5, 6, 3, 2, 1], "64-bit numbers exactly"],
    ["-weight", [2, 1, 3, 4, 5, 6], "floats"],
    ["inPrint", [4, 5, 6, 2, 1, 3], "false before true"],
    ["-publishedOn", [2, 1, 3, 4, 5, 6], "dates"],
    ["status", [4, 6, 3, 5, 2, 1], "enums by text, not by position"],
    ["-status", [1, 2, 3, 5, 4, 6], "enums, descending"],
    ["createdAt", [1, 2, 3, 4, 5, 6], "ties all along fall back to id"],
    ["-createdAt", [1, 2, 3, 4, 5, 6], "the closing id is ascending"],
    ["-pages,-id", [5, 3, 2, 1, 6, 4], "id where it is said"],
    ["-pages,title", [5, 3, 2, 1, 6, 4], "a second key"],
    [" -pages , title ", [5, 3, 2, 1, 6, 4], "spaces around keys"],
    ["pages,-pages", [4, 6, 1, 2, 3, 5], "a repeated key is decided by its first"],
    ["author.name", [5, 6, 1, 2, 3, 4], "to-one: no record is null"],
    ["-author.name", [3, 4, 1, 2, 5, 6], "to-one, descending"],
    ["author.mentor.name", [1, 2, 5, 6, 3, 4], "a chain that breaks at either hop is null"],
    ["-author.mentor.name,-id", [4, 3, 6, 5, 2, 1], "a chain, descending"],
    ["author.profile.bio", [3, 4, 5, 6, 1, 2], "through a one-to-one"],
    ["author.id", [5, 6, 1, 2, 3, 4], "the related id"],
    ["publisher.name,-title", [5, 1, 3, 4, 6, 2], "to-one, then a column"],
    ["_count(reviews)", [4, 6, 2, 3, 5, 1], "no children count 0"],
    ["-_count(reviews)", [1, 2, 3, 5, 4, 6], "most children first"],
    ["-_count(tags),title", [1, 3, 2, 5, 6, 4], "children of a many-to-many"],
    ["_max(reviews.stars)", [2, 3, 1, 4, 5, 6], "largest child, ascending: none comes last"],
    ["-_max(reviews.stars)", [1, 2, 3, 4, 5, 6], "largest child, descending: none comes last"],
    ["_min(reviews.stars)", [1, 2, 3, 4, 5, 6], "smallest child, ascending"],
    ["-_min(reviews.stars)", [2, 3, 1, 4, 5, 6], "smallest child, descending"],
    ["-_max(reviews.writtenOn)", [5, 1, 2, 3, 4, 6], "newest child first"],
    ["_max(reviews.writtenOn)", [2, 1, 5, 3, 4, 6], "newest child, ascending"],
    ["_max(reviews.text)", [5, 1, 3, 2, 4, 6], "text of children"],
    ["-_max(tags.label)", [3, 1, 2, 5, 4, 6], "text of a many-to-many"],
    ["-_count(reviews),-pages", [1, 5, 2, 3, 4, 6], "an aggregate, then a column"],
    ["pages,-_max(reviews.stars),title", [6, 4, 1, 3, 2, 5], "a column, an aggregate, a column"],
    ["author.name,-_count(reviews)", [5, 6, 1, 2, 3, 4], "to-one, then an aggregate"],
  ])("%s gives %j: %s", async (sort, expected) => {
    for (const road of [library, grouping]) {
      expect(ids(await road.rows("books", { sort, fields: "id" }))).toEqual(expected);
      const second = await road.rows("books", { sort, fields: "id", limit: 2, page: 2 });
      expect(ids(second)).toEqual(expected.slice(2, 4));
    }
  });

  it("counts children of a relation to the table itself", async () => {
    const rows = await library.rows("authors", { sort: "-_count(pupils),-name", fields: "name" });
    expect(rows.map(({ name }) => name)).toEqual(["Ann", "Bob", "Dora", "Cid"]);
  });

  it("does not show what it sorts by", async () => {
    const [row] = await library.rows("books", {
      sort: "-_max(reviews.stars),author.name",
      fields: "title",
      limit: 1,
    });
    expect(row).toEqual({ title: "Waves" });
  });

  it("never overlaps pages, however many ties", async () => {
    const pages = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((page) =>
        library.rows("numbers", { sort: "-value", limit: 5, page, fields: "id" }),
      ),
    );
    const all = pages.flatMap(ids);
    expect(all).toHaveLength(25);
    expect(new Set(all).size).toBe(25);
    expect(all.slice(0, 8)).toEqual([3, 6, 9, 12, 15, 18, 21, 24]);
  });

  it.each([
    ["nope", 'sort: unknown field "nope" on "books"'],
    ["titel", 'sort: unknown field "titel" on "books"; did you mean "title"?'],
    ["author.nme", 'sort: unknown field "nme" on "authors"; did you mean "name"?'],
    ["autor.name", 'sort: unknown field "autor" on "books"; did you mean "author"?'],
    ["authorId", 'sort: unknown field "authorId" on "books"; did you mean "author"?'],
    ["_id", 'sort: unknown field "_id" on "books"; did you mean "id"?'],
    [
      "reviews.stars",
      'sort: "reviews.stars" goes through the to-many relation "reviews"; use _max(reviews.stars) or _count(reviews)',
    ],
    [
      "author.books.title",
      'sort: "author.books.title" goes through the to-many relation "books", by which only "authors" can be sorted',
    ],
    ["author", 'sort: "author" is a relation; sort by author.id or another of its columns'],
    ["reviews", 'sort: "reviews" is a to-many relation; sort by _count(reviews)'],
    ["title.length", 'sort: "title" of "books" is a column, not a relation'],
    ["formats", 'sort: "formats" has the type enumList and can\'t be sorted by'],
    ["extra", 'sort: "extra" has the type json and can\'t be sorted by'],
    ["royalty", 'sort: "royalty" is encrypted and can\'t be sorted by'],
    [
      "author.mentor",
      'sort: "author.mentor" is a relation; sort by author.mentor.id or another of its columns',
    ],
    ["_count(author)", 'sort: _count(author): "author" is to-one, so there is nothing to count'],
    ["_count(title)", 'sort: "title" of "books" is a column, not a relation'],
    ["_count(reviewz)", 'sort: unknown field "reviewz" on "books"; did you mean "reviews"?'],
    ["_max(reviews.starz)", 'sort: unknown field "starz" on "reviews"; did you mean "stars"?'],
    ["_max(reviews.critic)", 'sort: "critic" is a relation; _max takes a column of "reviews"'],
    ["_min(author.born)", 'sort: _min(author.born): "author" is to-one; write author.born instead'],
    ["__proto__", 'sort: unknown field "__proto__" on "books"'],
    ["", "sort: has an empty key"],
    ["id,", "sort: has an empty key"],
    ["-", /^sort: "-" is not a sort key; write name, -name, relation\.name, _count\(relation\), /],
    ["--id", /^sort: "--id" is not a sort key; /],
    ["+id", /^sort: "\+id" is not a sort key; /],
    ["id desc", /^sort: "id desc" is not a sort key; /],
    ["_max(reviews)", /^sort: "_max\(reviews\)" is not a sort key; /],
    ["_max(reviews.critic.name)", /^sort: "_max\(reviews\.critic\.name\)" is not a sort key; /],
    ["_count(reviews.id)", /^sort: "_count\(reviews\.id\)" is not a sort key; /],
    ["_avg(reviews.stars)", /^sort: "_avg\(reviews\.stars\)" is not a sort key; /],
    ["-_count(reviews", /^sort: "-_count\(reviews" is not a sort key; /],
  ] as [string, string | RegExp][])("%s is refused", async (sort, message) => {
    const refusal = await library.refusal("books", { sort });
    if (typeof message === "string") expect(refusal).toBe(message);
    else expect(refusal).toMatch(message);
  });

  it("takes 8 keys and not 9", async () => {
    const keys = "title,-subtitle,pages,price,sold,weight,status,author.name";
    expect(ids(await library.rows("books", { sort: keys, fields: "id" }))).toEqual([3, 2, 1, 6, 5, 4]);
    expect(await library.refusal("books", { sort: `${keys},id` })).toBe("sort: has more than 8 keys");
  });

  it("goes through seven relations and not through eight", async () => {
    const rows = await library.rows("authors", { sort: `${"mentor.".repeat(7)}name`, fields: "name" });
    expect(rows).toHaveLength(4);
    expect(await library.refusal("authors", { sort: `${"mentor.".repeat(8)}name` })).toBe(
      "sort: goes through more than 7 relations",
    );
  });
});

describe("limit and page", () => {
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
  it.each<[query: Record<string, unknown>, ids: number[]]>([
    [{}, range(1, 10)],
    [{ limit: 3 }, [1, 2, 3]],
    [{ limit: 3, page: 1 }, [1, 2, 3]],
    [{ limit: 3, page: 2 }, [4, 5, 6]],
    [{ page: 3 }, range(21, 25)],
    [{ limit: 24, page: 2 }, [25]],
    [{ limit: 1_000 }, range(1, 25)],
    [{ limit: 0 }, range(1, 25)],
    [{ limit: 0, page: 1 }, range(1, 25)],
    [{ limit: 0, page: 2 }, []],
    [{ page: 4 }, []],
    [{ limit: 25, page: 2 }, []],
    [{ limit: 10, page: 900_719_925_474_099 }, []],
    [{ limit: 2, page: 2, filter: { value: 2 }, sort: "-id" }, [18, 15]],
  ])("%j", async (query, expected) => {
    const { status, body } = await library.list("numbers", { fields: "id", ...query });
    expect([status, ids(body.data)]).toEqual([200, expected]);
    expect(body).toEqual({ statusCode: 200, message: "Success", data: body.data });
  });

  it.each(["-1", "1.5", "", "ten", "1e2", "0x10", "NaN", " 5", "１０", '{"$gt":0}'])(
    "limit %j is refused",
    async (limit) => {
      expect(await library.refusal("numbers", { limit })).toBe("limit: must be a whole number from 0");
    },
  );

  it.each(["0", "-1", "1.5", "", "two", "1e9"])("page %j is refused", async (page) => {
    expect(await library.refusal("numbers", { page })).toBe("page: must be a whole number from 1");
  });

  it("what is too large is refused with the largest", async () => {
    const tooLarge = "99999999999999999999";
    expect(await library.refusal("numbers", { limit: tooLarge })).toBe(
      "limit: must be a whole number from 0 to 9007199254740991",
    );
    expect(await library.refusal("numbers", { page: tooLarge })).toBe(
      "page: must be a whole number from 1 to 9007199254740991",
    );
  });

  it.each([
    ["numbers", {}],
    ["numbers", { sort: "-value" }],
    ["books", { sort: "-_max(reviews.stars)" }],
    ["books", { sort: "_count(reviews),author.name" }],
  ])("a page of %s beyond what can be counted is empty: %j", async (table, query) => {
    for (const page of [900_000_000_000_000, 9_007_199_254_740_991]) {
      const { status, body } = await library.list(table, { ...query, page });
      expect([status, body.data]).toEqual([200, []]);
    }
  });

  it("so is one of related records", async () => {
    const deep = { reviews: { page: 9_007_199_254_740_991, sort: "-stars", limit: 3 } };
    const books = await library.rows("books", { fields: "id", deep });
    expect(books).not.toHaveLength(0);
    for (const { reviews } of books) expect(reviews).toEqual([]);
  });
});

describe("meta", () => {
  const meta = async (query: Record<string, unknown>): Promise<unknown> =>
    (await library.list("numbers", { fields: "id", ...query })).body.meta;

  it.each<[query: Record<string, unknown>, meta: unknown]>([
    [{ meta: "totalCount" }, { totalCount: 25 }],
    [{ meta: "filterCount" }, { filterCount: 25 }],
    [{ meta: "totalCount", filter: { value: 2 } }, { totalCount: 25 }],
    [{ meta: "filterCount", filter: { value: 2 } }, { filterCount: 8 }],
    [
      { meta: "totalCount,filterCount", filter: { value: 2 } },
      { totalCount: 25, filterCount: 8 },
    ],
    [
      { meta: "filterCount,totalCount", filter: { value: 2 } },
      { totalCount: 25, filterCount: 8 },
    ],
    [{ meta: "totalCount, filterCount" }, { totalCount: 25, filterCount: 25 }],
    [
      { meta: "*", filter: { value: 9 } },
      { totalCount: 25, filterCount: 0 },
    ],
    [
      { meta: "*", filter: { value: { _in: [] } } },
      { totalCount: 25, filterCount: 0 },
    ],
    [
      { meta: "*", limit: 1, page: 3 },
      { totalCount: 25, filterCount: 25 },
    ],
    [
      { meta: "*", page: 99 },
      { totalCount: 25, filterCount: 25 },
    ],
    [
      { meta: "*", limit: 0 },
      { totalCount: 25, filterCount: 25 },
    ],
    [{}, undefined],
  ])("%j", async (query, expected) => {
    expect(await meta(query)).toEqual(expected);
  });

  it("counts parents once, whatever their children", async () => {
    const { body } = await library.list("books", { meta: "*", filter: { reviews: { stars: { _gte: 1 } } } });
    expect(body.meta).toEqual({ totalCount: 6, filterCount: 3 });
  });

  it.each([
    ["foo", '"foo" is not known; use totalCount, filterCount or *'],
    ["totalCount,foo", '"foo" is not known; use totalCount, filterCount or *'],
    ["TOTALCOUNT", '"TOTALCOUNT" is not known; use totalCount, filterCount or *'],
    ["", '"" is not known; use totalCount, filterCount or *'],
    ['["totalCount"]', '"["totalCount"]" is not known; use totalCount, filterCount or *'],
  ])("%j is refused", async (text, problem) => {
    expect(await library.refusal("numbers", { meta: text })).toBe(`meta: ${problem}`);
  });
});

describe("aggregate", () => {
  const aggregate = async (asked: unknown, filter: unknown = {}): Promise<unknown> => {
    const { status, body } = await library.list("books", { aggregate: asked, filter, limit: 1 });
    if (status !== 200) throw new Error(`answered ${status}: ${body.message}`);
    return body.meta.aggregate;
  };
  const every = { count: true, sum: true, avg: true, min: true, max: true };

  it.each<[asked: unknown, filter: unknown, result: unknown]>([
    [{ pages: every }, {}, { pages: { count: 4, sum: 800, avg: 200, min: 100, max: 300 } }],
    [{ pages: { count: true } }, {}, { pages: { count: 4 } }],
    [{ weight: every }, {}, { weight: { count: 2, sum: 2, avg: 1, min: 0.5, max: 1.5 } }],
    [
      { price: every },
      { id: { _lte: 3 } },
      { price: { count: 3, sum: "120.45", avg: "40.15", min: "9.95", max: "100" } },
    ],
    [
      { sold: every },
      {},
      {
        sold: {
          count: 3,
          sum: "18014398509481980",
          avg: "6004799503160660",
          min: "-5",
          max: "9007199254740993",
        },
      },
    ],
    [{ title: { min: true, max: true } }, {}, { title: { min: "Ashes", max: "Émile" } }],
    [
      { publishedOn: { count: true, min: true, max: true } },
      {},
      { publishedOn: { count: 3, min: "2019-05-31", max: "2021-01-01" } },
    ],
    [
      { extra: { count: true }, formats: { count: true } },
      {},
      { extra: { count: 2 }, formats: { count: 3 } },
    ],
    [{ reviews: { count: true }, tags: { count: true } }, {}, { reviews: { count: 5 }, tags: { count: 5 } }],
    [{ pages: { sum: true } }, { author: { name: "Ann" } }, { pages: { sum: 300 } }],
    [{ reviews: { count: true } }, { author: { name: "Ann" } }, { reviews: { count: 3 } }],
    [{ pages: { avg: true } }, { reviews: { stars: { _gte: 1 } } }, { pages: { avg: 500 / 3 } }],
    [
      { pages: every, reviews: { count: true } },
      { id: 99 },
      { pages: { count: 0, sum: null, avg: null, min: null, max: null }, reviews: { count: 0 } },
    ],
    [{ pages: every }, { id: 6 }, { pages: { count: 0, sum: null, avg: null, min: null, max: null } }],
    [{}, {}, undefined],
  ])("%j where %j", async (asked, filter, result) => {
    if (result === undefined) {
      expect((await library.list("books", { aggregate: asked })).body).not.toHaveProperty("meta");
    } else expect(await aggregate(asked, filter)).toEqual(result);
  });

  it.each<[type: string, largest: number, result: object]>([
    ["float", 1.7e308, { sum: null, avg: null }],
    ["int", Number.MAX_SAFE_INTEGER, { sum: 2 ** 54 }],
  ])("of %s beyond the range of its type: %p twice and 3 give %p", async (type, largest, result) => {
    const table = `large_${type}s`;
    await created(library.api, "svc_table", { name: table, columns: [{ name: "value", type }] });
    await created(library.api, table, [{ value: largest }, { value: largest }, { value: 3 }]);
    const asked = Object.fromEntries(Object.keys(result).map((op) => [op, true]));
    const { body } = await library.list(table, { aggregate: { value: asked }, limit: 1 });
    expect(body.meta.aggregate).toEqual({ value: result });
  });

  it("stands beside the counts", async () => {
    const { body } = await library.list("books", { meta: "*", aggregate: { pages: { max: true } }, page: 9 });
    expect(body.meta).toEqual({ totalCount: 6, filterCount: 6, aggregate: { pages: { max: 300 } } });
    expect(body.data).toEqual([]);
  });

  it.each<[asked: unknown, message: string]>([
    [[], 'aggregate: must be an object such as {"views":{"sum":true}}, not a list'],
    ["x", 'aggregate: is not valid JSON; strings and names need double quotes, as in {"name":{"_eq":"Ann"}}'],
    [{ pagez: { sum: true } }, 'aggregate.pagez: unknown field "pagez" on "books"; did you mean "pages"?'],
    [{ pages: "sum" }, 'aggregate.pages: must be an object such as {"count":true}'],
    [{ pages: {} }, 'aggregate.pages: must be an object such as {"count":true}'],
    [{ pages: { sum: 1 } }, "aggregate.pages.sum: must be true, not a number"],
    [{ pages: { sum: false } }, "aggregate.pages.sum: must be true, not false"],
    [
      { pages: { median: true } },
      "aggregate.pages.median: is not possible here; use count, sum, avg, min, max",
    ],
    [{ pages: { $sum: true } }, "aggregate.pages.$sum: is not possible here; use count, sum, avg, min, max"],
    [{ title: { sum: true } }, "aggregate.title.sum: is not possible here; use count, min, max"],
    [{ extra: { max: true } }, "aggregate.extra.max: is not possible here; use count"],
    [{ royalty: { max: true } }, "aggregate.royalty.max: is not possible here; use count"],
    [{ reviews: { sum: true } }, "aggregate.reviews.sum: is not possible here; use count"],
    [
      { author: { count: true } },
      "aggregate.author: is a to-one relation; only to-many relations can be counted",
    ],
  ])("%j is refused", async (asked, message) => {
    expect(await library.refusal("books", { aggregate: asked })).toBe(message);
  });
});
