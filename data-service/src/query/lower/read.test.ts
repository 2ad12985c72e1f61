// The pipelines of lists: their stages, their order, and where row rules stand.
import { describe, expect, it } from "@jest/globals";
import { ReadView } from "../../permission/read-view.js";
import {
  ALWAYS,
  type AuthorizedPredicate,
  type AuthorizedQuery,
  type CountNode,
  type SortKey,
} from "../ast.js";
import { authorizeRead, withFilter, withParts, withRoot } from "../authorize-read.js";
import { bindQuery } from "../bind-query.js";
import { catalog, column, rootView, step, table } from "../library-fixture.js";
import type { Parameters } from "../parameters.js";
import { lowerAggregate, shapeAggregate } from "./aggregate.js";
import { countsAll, lowerCount } from "./count.js";
import { Names, type Stage } from "./document.js";
import { mostRecords } from "./joined-or-together.js";
import { lowerCounts, lowerList, lowerTogether, ownFields, type Together } from "./read.js";
import { lowerSort } from "./sort.js";

type Given = Omit<Parameters, "filterFromText">;

function queryOf(given: Given, { view = rootView, of = "books" } = {}): AuthorizedQuery {
  const query = bindQuery({ filterFromText: false, ...given }, table(of), view, {
    maxDepth: 7,
    maxLimit: undefined,
  });
  return authorizeRead(query, view);
}

const list = (given: Given, options?: { view?: ReadView; of?: string }): Stage[] =>
  lowerList(queryOf(given, options));

/** What is asked for the only relation that the query shows. */
function together({ root, rules }: AuthorizedQuery, question: Together): Stage[] {
  const [child] = root.children;
  if (child === undefined) throw new Error("no relation");
  return lowerTogether(child, question, rules);
}

/** What a join looks for where there is no link. */
const NO_ID = { $literal: { $none: 1 } };

describe("the order of a list", () => {
  it("keeps its keys in their places, whatever adopted fields are called", () => {
    const key = (field: string, descending: boolean): SortKey => ({
      kind: "column",
      path: [],
      column: { ...column("books.pages"), field },
      descending,
    });
    const { rules } = queryOf({});
    const keys = [key("title", false), key("2020", true), key("_id", false)];
    const { joins, sort } = lowerSort(keys, rules, new Names());
    expect(joins).toEqual([{ $set: { __1: "$2020" } }]);
    expect(Object.entries(sort)).toEqual([
      ["title", 1],
      ["__1", -1],
      ["_id", 1],
    ]);
    const two = lowerSort([key("2020", true), key("1999", false)], rules, new Names());
    expect(Object.entries(two.sort)).toEqual([
      ["2020", -1],
      ["__1", 1],
    ]);
  });
});

describe("how many records a list may have to hold", () => {
  it.each<[given: Given, most: number]>([
    [{ limit: 1000 }, 1000],
    [{ limit: 0 }, Number.POSITIVE_INFINITY],
    [{ limit: 20, fields: "author.name,author.mentor.name" }, 20],
    [{ limit: 20, deep: { reviews: { limit: 30 }, tags: {} } }, 600],
    [{ limit: 20, deep: { reviews: { limit: 0 } } }, Number.POSITIVE_INFINITY],
    [
      { limit: 20, deep: { author: { deep: { books: { limit: 5, deep: { reviews: { limit: 7 } } } } } } },
      700,
    ],
  ])("%j", (given, most) => {
    expect(mostRecords(queryOf(given).root)).toBe(most);
  });
});

describe("the pipeline of a list", () => {
  it("matches, sorts, cuts and shows", () => {
    expect(list({ fields: "title", filter: { pages: 5 }, sort: "-pages", limit: 3, page: 2 })).toEqual([
      { $match: { pages: { $eq: 5 } } },
      { $sort: { pages: -1, _id: 1 } },
      { $skip: 3 },
      { $limit: 3 },
      { $project: { _id: 1, title: 1 } },
    ]);
  });

  it("of everything is neither cut nor matched", () => {
    expect(list({ fields: "id", limit: 0 })).toEqual([{ $sort: { _id: 1 } }, { $project: { _id: 1 } }]);
  });

  it("shows bare id objects of a to-one without a join", () => {
    expect(list({ fields: "author,title" }).at(-1)).toEqual({ $project: { _id: 1, title: 1, authorId: 1 } });
    expect(JSON.stringify(list({ fields: "author,title" }))).not.toContain("$lookup");
  });

  it("of more than two leaves children to a question for all of them", () => {
    const deep = { reviews: { fields: "stars", filter: { stars: 5 }, sort: "-stars", limit: 3, page: 2 } };
    const query = queryOf({ fields: "title", deep, limit: 3 });
    expect(lowerList(query).at(-1)).toEqual({ $project: { _id: 1, title: 1 } });
    expect(together(query, { keys: [1, 2], most: 24 })).toEqual([
      { $match: { bookId: { $in: [1, 2] } } },
      { $match: { stars: { $eq: 5 } } },
      { $sort: { stars: -1, _id: 1 } },
      { $limit: 24 },
      { $project: { _id: 1, stars: 1, bookId: 1 } },
    ]);
  });

  it("reads the links by which it asks for what they lead to", () => {
    const query = queryOf({ fields: "author.name,author.mentor.name" });
    expect(lowerList(query).at(-1)).toEqual({ $project: { _id: 1, authorId: 1 } });
    expect(together(query, { keys: [1], most: undefined })).toEqual([
      { $match: { _id: { $in: [1] } } },
      { $project: { _id: 1, name: 1, mentorId: 1 } },
    ]);
  });

  it.each([
    ["all children are wanted", { deep: { reviews: { limit: 0 } } }],
    ["more than a hundred of each are", { deep: { reviews: { limit: 101 } } }],
    ["their order needs joins", { deep: { reviews: { sort: "book.title" } } }],
    ["their filter does", { deep: { reviews: { filter: { book: { title: "x" } } } } }],
    ["their links to the parents are lists", { of: "tags", fields: "books.title" }],
  ])("joins children when %s", (_why, { of = "books", ...given }: Given & { of?: string }) => {
    expect(JSON.stringify(list({ fields: "id", ...given }, { of }))).toContain("$lookup");
  });

  it("joins children after the page is cut, each with its own filter, order and cut", () => {
    const deep = { reviews: { fields: "stars", filter: { stars: 5 }, sort: "-stars", limit: 3, page: 2 } };
    expect(list({ fields: "title", deep, limit: 2 }).slice(-3)).toEqual([
      { $limit: 2 },
      {
        $lookup: {
          from: "reviews",
          localField: "_id",
          foreignField: "bookId",
          as: "__r_reviews",
          pipeline: [
            { $match: { stars: { $eq: 5 } } },
            { $sort: { stars: -1, _id: 1 } },
            { $skip: 3 },
            { $limit: 3 },
            { $project: { _id: 1, stars: 1 } },
          ],
        },
      },
      { $project: { _id: 1, title: 1, __r_reviews: 1 } },
    ]);
  });

  it("counts beside a page by one group for each key that has some", () => {
    const query = queryOf({ fields: "title,_count(reviews),_count(tags)", limit: 3 });
    expect(lowerList(query).at(-1)).toMatchObject({ $project: { _id: 1, title: 1 } });
    expect(lowerList(query).some((stage) => "$lookup" in stage)).toBe(false);
    expect(lowerCounts(step("books.reviews"), [1, 2], query.rules)).toEqual([
      { $match: { bookId: { $in: [1, 2] } } },
      { $group: { _id: "$bookId", n: { $sum: 1 } } },
    ]);
    // The list is cut down to these tags, each once.
    expect(lowerCounts(step("tags.books"), ["a", "b"], query.rules).slice(1)).toEqual([
      {
        $project: {
          tagsIds: {
            $setIntersection: [
              { $cond: [{ $isArray: "$tagsIds" }, "$tagsIds", ["$tagsIds"]] },
              { $literal: ["a", "b"] },
            ],
          },
        },
      },
      { $unwind: "$tagsIds" },
      { $group: { _id: "$tagsIds", n: { $sum: 1 } } },
    ]);
  });

  it("counts only what the row rule lets see, and joins the number to a single record", () => {
    const few: AuthorizedPredicate = {
      kind: "test",
      column: column("reviews.stars"),
      test: { op: "eq", value: 5 },
    };
    const view = new ReadView(catalog, (of) => ({
      rows: of.name === "reviews" ? few : ALWAYS,
      grants: [{ rows: ALWAYS, members: () => true }],
    }));
    const query = queryOf({ fields: "_count(reviews)", limit: 1 }, { view });
    expect(lowerCounts(step("books.reviews"), [1], query.rules)[1]).toEqual({
      $match: { stars: { $eq: 5 } },
    });
    expect(lowerList(query).slice(-3)).toEqual([
      {
        $lookup: {
          from: "reviews",
          localField: "_id",
          foreignField: "bookId",
          as: "__c_reviews",
          pipeline: [{ $match: { stars: { $eq: 5 } } }, { $count: "value" }],
        },
      },
      { $set: { __c_reviews: { $ifNull: [{ $first: "$__c_reviews.value" }, 0] } } },
      { $project: { _id: 1, __c_reviews: 1 } },
    ]);
    // Neither what was written nor a look at the record alone can answer it.
    expect(ownFields(query.root)).toBeUndefined();
    expect(ownFields(query.root, { together: true })).toEqual({ _id: 1 });
  });

  it("ranks parents before it reads them, and leaves out those that are gone by then", () => {
    const query = queryOf({ fields: "title", sort: "-_count(reviews)", limit: 3 });
    expect(lowerList(query, { kind: "all" }).slice(-4)).toEqual([
      { $limit: 3 },
      {
        $lookup: {
          from: "books",
          localField: "_id",
          foreignField: "_id",
          as: "record",
          pipeline: [{ $project: { _id: 1, title: 1 } }],
        },
      },
      { $unwind: "$record" },
      { $replaceRoot: { newRoot: "$record" } },
    ]);
  });

  it("asks what it ranked for its rule and filter once more when it reads it, but for keys that it knows", () => {
    const written: AuthorizedPredicate = {
      kind: "test",
      column: column("books.pages"),
      test: { op: "gt", value: 0 },
    };
    const view = new ReadView(catalog, () => ({
      rows: written,
      grants: [{ rows: written, members: () => true }],
    }));
    const query = queryOf(
      { fields: "title", filter: { title: "Emma" }, sort: "-_count(reviews)", limit: 3 },
      { view },
    );
    const keys: AuthorizedPredicate = { kind: "keys", field: "authorId", list: false, keys: [1, 2] };
    const filter: AuthorizedPredicate = { kind: "and", of: [query.root.filter, { kind: "not", of: keys }] };
    const stages = lowerList(withFilter(query, filter), { kind: "all" });
    const asked = [{ pages: { $gt: 0 } }, { title: { $eq: "Emma" } }];
    expect(stages[0]).toEqual({ $match: { $and: [...asked, { authorId: { $nin: [1, 2] } }] } });
    expect(stages.at(-3)).toMatchObject({
      $lookup: {
        as: "record",
        pipeline: [{ $match: { $and: asked } }, { $project: { _id: 1, title: 1 } }],
      },
    });
  });

  it("fetches what a to-one chain sorts by", () => {
    expect(list({ fields: "id", sort: "author.mentor.name" }).slice(0, 4)).toEqual([
      { $set: { __1: { $ifNull: ["$authorId", NO_ID] } } },
      {
        $lookup: {
          from: "authors",
          localField: "__1",
          foreignField: "_id",
          as: "__1",
          pipeline: [
            { $set: { __3: { $ifNull: ["$mentorId", NO_ID] } } },
            {
              $lookup: {
                from: "authors",
                localField: "__3",
                foreignField: "_id",
                as: "__3",
                pipeline: [{ $project: { _id: 0, value: "$name" } }],
              },
            },
            { $project: { _id: 0, value: { $first: "$__3.value" } } },
          ],
        },
      },
      { $set: { __2: { $first: "$__1.value" } } },
      { $sort: { __2: 1, _id: 1 } },
    ]);
  });

  it("counts children, 0 where there are none", () => {
    expect(list({ fields: "id", sort: "-_count(reviews)" }).slice(0, 3)).toEqual([
      {
        $lookup: {
          from: "reviews",
          localField: "_id",
          foreignField: "bookId",
          as: "__2",
          pipeline: [{ $count: "value" }],
        },
      },
      { $set: { __1: { $ifNull: [{ $first: "$__2.value" }, 0] } } },
      { $sort: { __1: -1, _id: 1 } },
    ]);
  });

  it("counts the links of a list of its own, unless a rule may hide some of what they lead to", () => {
    const size = { $cond: [{ $isArray: "$tagsIds" }, { $size: "$tagsIds" }, 0] };
    const sorted = list({ fields: "id", sort: "_count(tags)" });
    expect(sorted.slice(0, 2)).toEqual([{ $set: { __1: size } }, { $sort: { __1: 1, _id: 1 } }]);
    expect(lowerAggregate(queryOf({ aggregate: { tags: { count: true } } }))[0]).toEqual({
      $set: { __1: size },
    });
    const some: AuthorizedPredicate = {
      kind: "test",
      column: column("tags.label"),
      test: { op: "eq", value: "x" },
    };
    const view = new ReadView(catalog, () => ({ rows: some, grants: [{ rows: some, members: () => true }] }));
    const ruled = list({ fields: "id", sort: "_count(tags)" }, { view });
    expect(ruled).toContainEqual({
      $lookup: expect.objectContaining({ from: "tags", localField: "tagsIds" }),
    });
  });

  it.each([
    ["-_max(reviews.stars)", -1, "$max"],
    ["_min(reviews.stars)", 1, "$min"],
  ])("%s puts records without a value last in both directions", (sort, direction, extreme) => {
    const [join, value, missing, order] = list({ fields: "id", sort });
    expect(join).toMatchObject({
      $lookup: { from: "reviews", pipeline: [{ $group: { _id: null, value: { [extreme]: "$stars" } } }] },
    });
    expect([value, missing, order]).toEqual([
      { $set: { __2: { $ifNull: [{ $first: "$__1.value" }, null] } } },
      { $set: { __3: { $eq: ["$__2", null] } } },
      { $sort: { __3: 1, __2: direction, _id: 1 } },
    ]);
  });
});

describe("row rules", () => {
  const born: AuthorizedPredicate = {
    kind: "test",
    column: column("authors.born"),
    test: { op: "gt", value: 0 },
  };
  const stars: AuthorizedPredicate = {
    kind: "test",
    column: column("reviews.stars"),
    test: { op: "gt", value: 1 },
  };
  const view = new ReadView(catalog, ({ name }) => {
    const rows: AuthorizedPredicate =
      name === "authors" ? born : name === "reviews" ? stars : { kind: "always" };
    return { rows, grants: [{ rows, members: () => true }] };
  });
  const rule = { $match: { stars: { $gt: 1 } } };

  it("stand at the root, before the filter", () => {
    expect(list({ fields: "id", filter: { name: "Ann" } }, { view, of: "authors" })[0]).toEqual({
      $match: { $and: [{ born: { $gt: 0 } }, { name: { $eq: "Ann" } }] },
    });
  });

  it("stand in children, in sorts, in aggregates and behind bare ids", () => {
    const rules = [
      list({ fields: "reviews", limit: 2 }, { view }),
      list({ fields: "id", sort: "_count(reviews)" }, { view }),
      list({ fields: "id", sort: "_max(reviews.stars)" }, { view }),
      lowerAggregate(queryOf({ aggregate: { reviews: { count: true } } }, { view })),
    ].map((pipeline) => pipeline.find((stage) => "$lookup" in stage));
    for (const join of rules)
      expect(join).toMatchObject({ $lookup: { pipeline: expect.arrayContaining([rule]) } });
    const asked = together(queryOf({ fields: "reviews" }, { view }), { keys: [1], most: 20 });
    expect(asked).toContainEqual(rule);
    expect(list({ fields: "author", limit: 2 }, { view })).toContainEqual({
      $lookup: expect.objectContaining({
        from: "authors",
        pipeline: expect.arrayContaining([{ $match: { born: { $gt: 0 } } }]),
      }),
    });
    expect(list({ fields: "id", sort: "author.name" }, { view })).toContainEqual({
      $lookup: expect.objectContaining({
        from: "authors",
        pipeline: expect.arrayContaining([{ $match: { born: { $gt: 0 } } }]),
      }),
    });
  });

  it("count in both counts, the filter in one", () => {
    const query = queryOf({ filter: { name: "Ann" } }, { view, of: "authors" });
    expect(lowerCount(query, "totalCount")).toEqual([{ $match: { born: { $gt: 0 } } }, { $count: "value" }]);
    expect(lowerCount(query, "filterCount")).toEqual([
      { $match: { $and: [{ born: { $gt: 0 } }, { name: { $eq: "Ann" } }] } },
      { $count: "value" },
    ]);
  });
});

describe("members that only some rows show", () => {
  const long: AuthorizedPredicate = {
    kind: "test",
    column: column("books.pages"),
    test: { op: "gt", value: 9 },
  };
  const partly = ["price", "author", "tags", "reviews"];
  const view = new ReadView(catalog, ({ name: of }) => ({
    rows: ALWAYS,
    grants: [
      { rows: ALWAYS, members: ({ name }) => of !== "books" || !partly.includes(name) },
      { rows: long, members: () => true },
    ],
  }));
  const isShown = { $or: [{ $ne: ["$__m0", []] }] };
  const ifShown = (value: unknown) => ({ $cond: [isShown, value, "$$REMOVE"] });
  const orNowhere = (value: string) => ({ $cond: [isShown, value, NO_ID] });

  it("are dropped by the database in all others, links that are asked for later as well", () => {
    const [mark, project] = list({ fields: "title,price,author.name" }, { view }).slice(-2);
    expect(mark).toMatchObject({
      $lookup: {
        from: "books",
        pipeline: [{ $match: { $expr: {} } }, { $match: { pages: { $gt: 9 } } }, { $project: { _id: 1 } }],
        as: "__m0",
      },
    });
    expect(project).toEqual({
      $project: { _id: 1, title: 1, price: ifShown("$price"), __m0: 1, authorId: ifShown("$authorId") },
    });
  });

  it("have nothing joined to them in all others", () => {
    const deep = { author: { fields: "name" }, tags: { fields: "label" }, reviews: { fields: "stars" } };
    const stages = list({ fields: "id", deep, limit: 1 }, { view });
    const at = stages.findIndex((stage) => JSON.stringify(stage).includes("__m0"));
    expect(stages.slice(at + 1)).toMatchObject([
      { $set: { __r_author: { $cond: [isShown, { $ifNull: ["$authorId", NO_ID] }, NO_ID] } } },
      { $lookup: { from: "authors", localField: "__r_author", foreignField: "_id" } },
      { $set: { __r_tags: orNowhere("$tagsIds") } },
      { $lookup: { from: "tags", localField: "__r_tags", foreignField: "_id" } },
      { $set: { __r_reviews: orNowhere("$_id") } },
      { $lookup: { from: "reviews", localField: "__r_reviews", foreignField: "bookId" } },
      { $project: { _id: 1, __m0: 1, __r_author: 1, __r_tags: 1, __r_reviews: 1 } },
    ]);
  });

  it("have no stored number read in all others: it is absent where nothing is related", () => {
    const query = queryOf({ fields: "_count(reviews)", limit: 1 }, { view });
    const counter = { ...column("books.pages"), field: "_n_reviews" };
    const counts = query.root.counts.map(
      ({ step }): CountNode => ({ kind: "stored", step, column: counter }),
    );
    const stages = lowerList(withRoot(query, withParts(query.root, { counts })));
    expect(stages.at(-1)).toMatchObject({ $project: { _n_reviews: ifShown("$_n_reviews") } });
  });

  it("cost nothing where they are not asked for", () => {
    expect(list({ fields: "title" }, { view })).toEqual(list({ fields: "title" }));
  });
});

describe("counting every row", () => {
  const everything = (given: Given) =>
    (["totalCount", "filterCount"] as const).map((which) => countsAll(queryOf(given), which));

  it("is what a count without rule and filter does", () => {
    expect(everything({})).toEqual([true, true]);
    expect(everything({ filter: { _and: [] } })).toEqual([true, true]);
    expect(everything({ filter: { pages: 5 } })).toEqual([true, false]);
  });

  it("is not what a count under a row rule does", () => {
    const some: AuthorizedPredicate = {
      kind: "test",
      column: column("books.pages"),
      test: { op: "gt", value: 0 },
    };
    const view = new ReadView(catalog, () => ({ rows: some, grants: [{ rows: some, members: () => true }] }));
    expect(countsAll(queryOf({}, { view }), "totalCount")).toBe(false);
  });
});

describe("aggregates", () => {
  it("are one group; sums of 64-bit numbers are exact", () => {
    const query = queryOf(
      { aggregate: { the_bigint: { sum: true } }, filter: { the_int: 1 } },
      { of: "samples" },
    );
    expect(lowerAggregate(query)).toEqual([
      { $match: { the_int: { $eq: 1 } } },
      {
        $group: {
          _id: null,
          a0_sum: { $sum: { $cond: [{ $isNumber: "$the_bigint" }, { $toDecimal: "$the_bigint" }, null] } },
          a0_count: { $sum: { $cond: [{ $eq: [{ $ifNull: ["$the_bigint", null] }, null] }, 0, 1] } },
        },
      },
    ]);
  });

  it("have no average of values none of which is a number", () => {
    const { aggregate } = queryOf({ aggregate: { pages: { avg: true } } });
    expect(shapeAggregate(aggregate, { a0_count: 2, a0_avg: null })).toEqual({ pages: { avg: null } });
  });

  it("over nothing are null, and count 0", () => {
    const asked = { pages: { count: true, sum: true, max: true }, reviews: { count: true } };
    const { aggregate } = queryOf({ aggregate: asked });
    const nothing = { pages: { count: 0, sum: null, max: null }, reviews: { count: 0 } };
    expect(shapeAggregate(aggregate, undefined)).toEqual(nothing);
    expect(shapeAggregate(aggregate, { a0_count: 0, a0_sum: 0, a0_max: null, a1_count: 0 })).toEqual(nothing);
  });
});
