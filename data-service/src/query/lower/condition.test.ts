// The `$match` that each predicate becomes, and when it needs a join.
import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import { BSONRegExp } from "bson";
import { buildCatalog } from "../../catalog/build-catalog.js";
import { bareColumn, bareRelation, bareTable } from "../../catalog/definition-fixture.js";
import type { AuthorizedPredicate, Predicate } from "../ast.js";
import { authorizePredicate, authorizeRead } from "../authorize-read.js";
import { bindQuery } from "../bind-query.js";
import { column, rootView, step, table, viewOf } from "../library-fixture.js";
import { matchStages } from "./condition.js";
import { type Document, MATCH_NONE, Names, type Stage } from "./document.js";

function predicateOf(filter: Json, of = "books"): AuthorizedPredicate {
  const parameters = { filter, filterFromText: false };
  const query = bindQuery(parameters, table(of), rootView, { maxDepth: 7, maxLimit: undefined });
  return authorizeRead(query, rootView).root.filter;
}

const stagesOf = (filter: Json, of?: string): Stage[] => matchStages([predicateOf(filter, of)], new Names());

/** The conditions of a filter without joins: wanted true, wanted false. */
const both = (filter: Json, of?: string): Stage[][] => [stagesOf(filter, of), stagesOf({ _not: filter }, of)];

/** What a join looks for where there is no link. */
const NO_ID = { $literal: { $none: 1 } };

const match = (condition: Document): Stage[] => [{ $match: condition }];
const NONE = match(MATCH_NONE);

describe("a test has a form for true and a form for false, and null satisfies neither", () => {
  it.each<[filter: Json, whenTrue: Document, whenFalse: Document]>([
    [{ pages: 5 }, { pages: { $eq: 5 } }, { pages: { $nin: [5, null] } }],
    [{ pages: { _neq: 5 } }, { pages: { $nin: [5, null] } }, { pages: { $eq: 5 } }],
    [{ pages: { _in: [1, 2] } }, { pages: { $in: [1, 2] } }, { pages: { $nin: [1, 2, null] } }],
    [{ pages: { _not_in: [1] } }, { pages: { $nin: [1, null] } }, { pages: { $in: [1] } }],
    [{ pages: { _gt: 5 } }, { pages: { $gt: 5 } }, { pages: { $lte: 5 } }],
    [{ pages: { _gte: 5 } }, { pages: { $gte: 5 } }, { pages: { $lt: 5 } }],
    [{ pages: { _lt: 5 } }, { pages: { $lt: 5 } }, { pages: { $gte: 5 } }],
    [{ pages: { _lte: 5 } }, { pages: { $lte: 5 } }, { pages: { $gt: 5 } }],
    [{ pages: { _is_null: true } }, { pages: { $eq: null } }, { pages: { $ne: null } }],
    [{ id: 5 }, { _id: { $eq: 5 } }, { _id: { $nin: [5, null] } }],
    [
      { title: { _contains: "a.b" } },
      { title: { $regex: new BSONRegExp("a\\x{2e}b|a(?!)", "i") } },
      { title: { $not: { $regex: new BSONRegExp("a\\x{2e}b|a(?!)", "i") }, $ne: null } },
    ],
    [
      { title: { _starts_with: "É$" } },
      { title: { $regex: new BSONRegExp("\\AÉ\\x{24}", "i") } },
      { title: { $not: { $regex: new BSONRegExp("\\AÉ\\x{24}", "i") }, $ne: null } },
    ],
    [
      { title: { _ends_with: "\0😀" } },
      { title: { $regex: new BSONRegExp("\\A.*\\z(?<=\\x{0}\\x{1f600})", "is") } },
      { title: { $not: { $regex: new BSONRegExp("\\A.*\\z(?<=\\x{0}\\x{1f600})", "is") }, $ne: null } },
    ],
    [
      { pages: 5, title: "a" },
      { $and: [{ pages: { $eq: 5 } }, { title: { $eq: "a" } }] },
      { $or: [{ pages: { $nin: [5, null] } }, { title: { $nin: ["a", null] } }] },
    ],
    [
      { _or: [{ pages: 5 }, { title: null }] },
      { $or: [{ pages: { $eq: 5 } }, { title: { $eq: null } }] },
      { $and: [{ pages: { $nin: [5, null] } }, { title: { $ne: null } }] },
    ],
    [
      { pages: { _between: [1, 2] } },
      { $and: [{ pages: { $gte: 1 } }, { pages: { $lte: 2 } }] },
      { $or: [{ pages: { $lt: 1 } }, { pages: { $gt: 2 } }] },
    ],
  ])("%j", (filter, whenTrue, whenFalse) => {
    expect(both(filter)).toEqual([match(whenTrue), match(whenFalse)]);
    expect(stagesOf({ _not: { _not: filter } })).toEqual(match(whenTrue));
  });

  const any = {
    $type: [
      ...["array", "string", "number", "bool", "object", "date", "objectId", "binData", "timestamp"],
      ...["regex", "javascript", "symbol", "dbPointer", "minKey", "maxKey"],
    ],
  };

  it("a json column is tested by type, for a list with a null in it is not null", () => {
    expect(both({ the_json: null }, "samples")).toEqual([
      match({ the_json: { $not: any } }),
      match({ the_json: any }),
    ]);
  });

  it("a member of a list", () => {
    expect(both({ the_enumList: { _contains: "red" } }, "samples")).toEqual([
      match({ the_enumList: { $eq: "red" } }),
      match({ the_enumList: { $ne: "red", ...any } }),
    ]);
  });

  it("a list is tested for null by type too, and by what an index can serve", () => {
    expect(both({ the_enumList: null }, "samples")).toEqual([
      match({ the_enumList: { $eq: null, $not: any } }),
      match({ the_enumList: any }),
    ]);
  });
});

describe("constants fold away", () => {
  it.each<[filter: Json, stages: Stage[]]>([
    [{}, []],
    [{ _not: {} }, NONE],
    [{ _or: [] }, []],
    [{ pages: { _in: [] } }, NONE],
    [{ _not: { pages: { _in: [] } } }, []],
    [{ _and: [{ pages: 1 }, { pages: { _in: [] } }] }, NONE],
    [{ _or: [{ pages: 1 }, { pages: { _in: [] } }] }, match({ pages: { $eq: 1 } })],
    [{ _or: [{ pages: 1 }, {}] }, []],
    [{ _and: [{ pages: { _in: [] } }, { author: { name: "x" } }] }, NONE],
  ])("%j", (filter, stages) => {
    expect(stagesOf(filter)).toEqual(stages);
  });
});

describe("a question about the link itself needs no join", () => {
  it.each<[filter: Json, whenTrue: Document, whenFalse: Document]>([
    [{ author: 5 }, { authorId: { $eq: 5 } }, { authorId: { $nin: [5, null] } }],
    [{ author: { id: { _gt: 5 } } }, { authorId: { $gt: 5 } }, { authorId: { $lte: 5 } }],
    [{ author: { _in: [1, 2] } }, { authorId: { $in: [1, 2] } }, { authorId: { $nin: [1, 2, null] } }],
    [{ author: null }, { authorId: { $eq: null } }, { authorId: { $ne: null } }],
    [{ author: { _not: { id: 5 } } }, { authorId: { $nin: [5, null] } }, { authorId: { $eq: 5 } }],
    [{ author: { id: { _is_not_null: true } } }, { authorId: { $nin: [null] } }, { authorId: { $in: [] } }],
    [{ author: { id: { _not_in: [] } } }, { authorId: { $nin: [null] } }, { authorId: { $in: [] } }],
    [{ author: { id: { _in: [] } } }, { authorId: { $in: [] } }, { authorId: { $nin: [null] } }],
    [{ author: {} }, { authorId: { $nin: [null] } }, { authorId: { $in: [] } }],
    [
      { author: { _or: [{ id: 5 }, { id: null }] } },
      { $or: [{ authorId: { $eq: 5 } }, { authorId: { $in: [] } }] },
      { $and: [{ authorId: { $nin: [5, null] } }, { authorId: { $nin: [null] } }] },
    ],
  ])("%j", (filter, whenTrue, whenFalse) => {
    expect(both(filter)).toEqual([match(whenTrue), match(whenFalse)]);
  });
});

describe("a join fetches the one record that decides", () => {
  const cut = [{ $limit: 1 }, { $project: { _id: 1 } }];
  const toAuthor = (condition: Document): Stage[] => [
    { $set: { __1: { $ifNull: ["$authorId", NO_ID] } } },
    {
      $lookup: {
        from: "authors",
        localField: "__1",
        foreignField: "_id",
        as: "__1",
        pipeline: [{ $match: condition }, ...cut],
      },
    },
  ];
  const toReviews = (...matches: Stage[]) => ({
    $lookup: {
      from: "reviews",
      localField: "_id",
      foreignField: "bookId",
      as: "__1",
      pipeline: [...matches, ...cut],
    },
  });

  it("to-one: false needs a record that makes the inner predicate false", () => {
    expect(both({ author: { name: "Ann" } })).toEqual([
      [...toAuthor({ name: { $eq: "Ann" } }), { $match: { __1: { $ne: [] } } }],
      [...toAuthor({ name: { $nin: ["Ann", null] } }), { $match: { __1: { $ne: [] } } }],
    ]);
  });

  it("to-many: false is none found", () => {
    const stars = { $match: { stars: { $eq: 5 } } };
    expect(both({ reviews: { stars: 5 } })).toEqual([
      [toReviews(stars), { $match: { __1: { $ne: [] } } }],
      [toReviews(stars), { $match: { __1: { $eq: [] } } }],
    ]);
  });

  it("existence: any record will do", () => {
    expect(both({ reviews: { _is_null: true } })).toEqual([
      [toReviews(), { $match: { __1: { $eq: [] } } }],
      [toReviews(), { $match: { __1: { $ne: [] } } }],
    ]);
  });

  it.each<Json>([{ tags: { _is_null: false } }, { tags: {} }, { tags: { _not_in: [], _neq: null } }])(
    "existence in a list of links is told by the list itself: %j",
    (filter) => {
      expect(both(filter)).toEqual([
        match({ tagsIds: { $nin: [null, []] } }),
        match({ tagsIds: { $in: [null, []] } }),
      ]);
    },
  );

  it("existence in a list of links is looked for where a rule may hide the record, or other programs its end", () => {
    const related: Predicate = { kind: "exists", ...step("books.tags") };
    const { relation, target } = step("books.tags");
    const link = { ...relation.link, isAdopted: true };
    const lookup = [expect.objectContaining({ $lookup: expect.anything() }), expect.anything()];
    for (const predicate of [
      authorizePredicate(related, viewOf({ kind: "never" })),
      authorizePredicate({ ...related, relation: { ...relation, link } }, rootView),
      authorizePredicate({ ...related, target: { ...target, isAdopted: true } }, rootView),
      authorizePredicate({ kind: "exists", ...step("tags.books") }, rootView),
    ])
      expect(matchStages([predicate], new Names())).toEqual(lookup);
  });

  it("a many-to-many joins over the list of ids, from either end", () => {
    const ends = [stagesOf({ tags: { label: "x" } })[0], stagesOf({ books: { title: "x" } }, "tags")[0]];
    expect(ends).toMatchObject([
      { $lookup: { from: "tags", localField: "tagsIds", foreignField: "_id" } },
      { $lookup: { from: "books", localField: "_id", foreignField: "tagsIds" } },
    ]);
  });

  it("a list in a field named by digits, which MongoDB takes for a place in a list, is copied before", () => {
    const { relation, ...rest } = step("tags.books");
    const own = { ...relation, link: { ...relation.link, on: "self" as const, field: "01" } };
    const asked = authorizePredicate({ kind: "exists", ...rest, relation: own }, viewOf({ kind: "never" }));
    expect(matchStages([asked], new Names()).slice(0, 2)).toMatchObject([
      { $set: { __1: "$01" } },
      { $lookup: { localField: "__1", foreignField: "_id", as: "__1" } },
    ]);
  });

  it("nested joins lie inside, each with a name of its own", () => {
    expect(stagesOf({ author: { books: { title: "x" } } })).toEqual([
      { $set: { __1: { $ifNull: ["$authorId", NO_ID] } } },
      {
        $lookup: {
          from: "authors",
          localField: "__1",
          foreignField: "_id",
          as: "__1",
          pipeline: [
            {
              $lookup: {
                from: "books",
                localField: "_id",
                foreignField: "authorId",
                as: "__2",
                pipeline: [{ $match: { title: { $eq: "x" } } }, ...cut],
              },
            },
            { $match: { __2: { $ne: [] } } },
            ...cut,
          ],
        },
      },
      { $match: { __1: { $ne: [] } } },
    ]);
  });

  it("everything that needs no join comes first", () => {
    const stages = stagesOf({ author: { name: "Ann" }, pages: 5 });
    expect(stages[0]).toEqual({ $match: { pages: { $eq: 5 } } });
    expect(stages.map((stage) => Object.keys(stage)[0])).toEqual(["$match", "$set", "$lookup", "$match"]);
  });

  it("the row rule of the other table is applied before the filter, and a hidden row is an absent one", () => {
    const visible: AuthorizedPredicate = {
      kind: "test",
      column: column("authors.born"),
      test: { op: "gt", value: 0 },
    };
    const where: Predicate = {
      kind: "test",
      column: column("authors.name"),
      test: { op: "eq", value: "Ann" },
    };
    const view = viewOf(visible);
    const related = authorizePredicate({ kind: "related", ...step("books.author"), where }, view);
    expect(matchStages([{ kind: "not", of: related }], new Names())).toEqual([
      ...toAuthor({ $and: [{ born: { $gt: 0 } }, { name: { $nin: ["Ann", null] } }] }),
      { $match: { __1: { $ne: [] } } },
    ]);
    const exists = authorizePredicate({ kind: "exists", ...step("books.author") }, view);
    expect(matchStages([exists], new Names())).toEqual([
      ...toAuthor({ born: { $gt: 0 } }),
      { $match: { __1: { $ne: [] } } },
    ]);
  });
});

describe("in an adopted table, a list where one value or link belongs satisfies nothing", () => {
  const relations = [bareRelation("home", "houses", { inverse: "cats" })];
  const adopted = buildCatalog(
    1,
    [
      bareTable("houses", { idType: "int" }),
      bareTable("cats", {
        columns: [bareColumn("name")],
        relations,
        storage: { collection: "cats", fields: { name: "name", home: "homeId" }, adopted: true },
      }),
    ],
    [],
  );
  const stagesIn = (of: string, filter: Json): Stage[] => {
    const [found, view] = [adopted.tables.get(of), viewOf({ kind: "always" }, adopted)];
    if (found === undefined) throw new Error(of);
    const limits = { maxDepth: 7, maxLimit: undefined };
    const query = authorizeRead(bindQuery({ filter, filterFromText: false }, found, view, limits), view);
    return matchStages([query.root.filter], new Names());
  };
  const noList = { $not: { $type: "array" } };

  it.each<[filter: Json, whenTrue: Document, whenFalse: Document]>([
    [
      { name: "Tom" },
      { $and: [{ name: { $eq: "Tom" } }, { name: noList }] },
      { $and: [{ name: { $nin: ["Tom", null] } }, { name: noList }] },
    ],
    [
      { name: { _starts_with: "T" } },
      { $and: [{ name: { $regex: new BSONRegExp("\\AT", "i") } }, { name: noList }] },
      {
        $and: [
          { name: { $not: { $regex: new BSONRegExp("\\AT", "i") }, $type: "string" } },
          { name: noList },
        ],
      },
    ],
    [
      { home: 5 },
      { $and: [{ homeId: { $eq: 5 } }, { homeId: noList }] },
      { $and: [{ homeId: { $nin: [5, null] } }, { homeId: noList }] },
    ],
    [
      { home: { _is_not_null: true } },
      { homeId: { $ne: null, ...noList } },
      { homeId: { $eq: null, ...noList } },
    ],
  ])("%j", (filter, whenTrue, whenFalse) => {
    expect(stagesIn("cats", filter)).toEqual(match(whenTrue));
    expect(stagesIn("cats", { _not: filter })).toEqual(match(whenFalse));
  });

  it("is no key of a join, on either side", () => {
    const isNone = { $in: [{ $type: "$homeId" }, ["array", "regex"]] };
    const link = { $cond: [isNone, NO_ID, { $ifNull: ["$homeId", NO_ID] }] };
    expect(stagesIn("cats", { home: { createdAt: null } }).slice(0, 2)).toMatchObject([
      { $set: { __1: link } },
      { $lookup: { localField: "__1", as: "__1" } },
    ]);
    expect(stagesIn("houses", { cats: { _is_not_null: true } })[0]?.$lookup).toMatchObject({
      foreignField: "homeId",
      pipeline: [{ $match: { homeId: noList } }, { $limit: 1 }, { $project: { _id: 1 } }],
    });
  });
});
