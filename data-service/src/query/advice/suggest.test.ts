// The shape of a query, and the index that would help it.
import { describe, expect, it } from "@jest/globals";
import type { Json, JsonObject } from "@portico/shared/json";
import type { Catalog } from "../../catalog/catalog.js";
import { indexesOf, MAX_INDEXES } from "../../catalog/indexes.js";
import { authorizeRead } from "../authorize-read.js";
import { bindQuery } from "../bind-query.js";
import { catalog, catalogOf, rootView, table } from "../library-fixture.js";
import { childRead, type QueryShape, shapeOf } from "./shape.js";
import { type Advice, suggest } from "./suggest.js";

interface Asked {
  readonly filter?: Json;
  readonly sort?: string;
  readonly deep?: Json;
}

function rootOf(asked: Asked, of: string) {
  const query = bindQuery({ filterFromText: false, ...asked }, table(of), rootView, {
    maxDepth: 7,
    maxLimit: undefined,
  });
  return authorizeRead(query, rootView).root;
}

function shape(asked: Asked, of = "books"): QueryShape {
  const { table: read, rule, filter, sort } = rootOf(asked, of);
  return shapeOf({ table: read, predicates: [rule, filter], sort });
}

const parts = (asked: Asked): string[] => shape(asked).filter.map(({ field, test }) => `${field} ${test}`);

function advice(asked: Asked, of?: string): Advice | undefined {
  return suggest(shape(asked, of), catalog)?.advice;
}

describe("the shape of a query", () => {
  it("is the same whatever the operands are, and whatever their order", () => {
    const [one, other] = [
      { filter: { pages: 5, title: { _contains: "secret" } }, sort: "-price" },
      { filter: { _and: [{ title: { _ends_with: "x" } }, { pages: { _in: [1, 2] } }] }, sort: "-price" },
    ].map((asked) => JSON.stringify(shape(asked)));
    expect(one).toBe(other);
    expect(one).not.toContain("secret");
  });

  it.each<[filter: Json, parts: string[]]>([
    [{ pages: 5 }, ["pages equality"]],
    [{ pages: { _between: [1, 2] } }, ["pages range"]],
    [{ title: { _starts_with: "a" } }, ["title text"]],
    [{ pages: null }, ["pages null"]],
    [{ pages: { _neq: 5 } }, ["pages negated"]],
    [{ _not: { _or: [{ pages: 5 }, { title: "a" }] } }, ["pages negated", "title negated"]],
    [{ _or: [{ pages: 5 }, { title: "a" }] }, ["pages alternative", "title alternative"]],
    [{ author: 5 }, ["author equality"]],
    [{ author: null }, ["author null"]],
    [{ author: { _is_null: false } }, ["author negated"]],
    [{ author: {} }, ["author negated"]],
    [{ author: { name: "Ann" } }, ["author joined"]],
    [{ reviews: {} }, ["reviews joined"]],
    [{ tags: {} }, ["tags negated"]],
    [{ tags: null }, ["tags null"]],
  ])("names fields and what is asked of them: %j", (filter, expected) => {
    expect(parts({ filter })).toEqual(expected.sort());
  });

  it("spells sort keys as they are asked for, without the id that closes every sort", () => {
    expect(shape({ sort: "-author.name,_count(reviews),-_max(reviews.stars)" }).sort).toEqual([
      "-author.name",
      "_count(reviews)",
      "-_max(reviews.stars)",
    ]);
    expect(shape({}).sort).toEqual([]);
    expect(shape({ sort: "-id" }).sort).toEqual(["-id"]);
  });

  it("names the relation that children are fetched by", () => {
    const { children } = rootOf({ deep: { reviews: { sort: "-stars" } } }, "books");
    const child = children.find(({ relation }) => relation.name === "reviews");
    expect(child && shapeOf(childRead(child))).toEqual({
      table: "reviews",
      filter: [{ field: "book", test: "equality" }],
      sort: ["-stars"],
    });
  });
});

it("nothing is suggested for text among the records of a relation, which are found by their link", () => {
  const filter = { text: { _contains: "secret" } };
  const { children } = rootOf({ deep: { reviews: { filter } } }, "books");
  const child = children.find(({ relation }) => relation.name === "reviews");
  const read = child && shapeOf(childRead(child));
  expect(read?.filter).toEqual([
    { field: "book", test: "equality" },
    { field: "text", test: "joined" },
  ]);
  expect(read && suggest(read, catalog)).toBeUndefined();
});

describe("the index for a shape", () => {
  it.each<[asked: Asked, index: string[]]>([
    [{ filter: { pages: 5 } }, ["pages"]],
    [{ filter: { pages: { _gt: 5 } } }, ["pages"]],
    [{ sort: "-pages" }, ["-pages"]],
    [{ filter: { title: "a" }, sort: "-pages" }, ["title", "-pages"]],
    [
      { filter: { price: { _gt: "1" }, title: "a" }, sort: "-pages,createdAt" },
      ["title", "-pages", "createdAt", "id", "price"],
    ],
    [{ filter: { author: 5, pages: 1 } }, ["author", "pages"]],
    [{ filter: { pages: 1 }, sort: "author.name,price" }, ["pages"]],
    [{ sort: "createdAt" }, ["createdAt"]],
    [{ filter: { title: "a", _or: [{ pages: 1 }, { price: "2" }] } }, ["title"]],
  ])("begins with equality, goes on with the sort, ends with a range: %j", (asked, index) => {
    expect(advice(asked)).toEqual({ index });
  });

  it.each<[asked: Asked]>([
    [{ filter: { id: 5, pages: 1 } }],
    [{ filter: { author: 5 } }],
    [{ filter: { author: 5 }, sort: "-createdAt" }],
    [{ sort: "-createdAt" }],
    [{ sort: "createdAt,-id" }],
  ])("is not suggested when the table has it: %j", (asked) => {
    expect(suggest(shape(asked), catalog)).toBeUndefined();
  });

  it("counts as there once the table declares it, with the fields of equality in any order", () => {
    const columns = ["a", "b", "c"].map((name) => ({ name, type: "int" }));
    const asked: QueryShape = {
      table: "things",
      filter: ["a", "b"].map((field) => ({ field, test: "equality" })),
      sort: ["-c"],
    };
    const withIndex = (...indexes: string[][]) => catalogOf([{ name: "things", columns, indexes }]);
    expect(suggest(asked, withIndex())?.advice).toEqual({ index: ["a", "b", "-c"] });
    expect(suggest(asked, withIndex(["a", "b", "-c"]))).toBeUndefined();
    expect(suggest(asked, withIndex(["b", "a", "-c"]))).toBeUndefined();
    // Read from its other end, it gives what is alike in "c" by descending ids.
    expect(suggest(asked, withIndex(["a", "b", "c"]))?.advice).toEqual({ index: ["a", "b", "-c"] });
    const fromTheEnd = { ...asked, sort: ["-c", "-id"] };
    expect(suggest(fromTheEnd, withIndex(["a", "b", "c"]))).toBeUndefined();
    expect(suggest(asked, withIndex(["a", "c", "b"]))?.advice).toEqual({ index: ["a", "b", "-c"] });
    const twoKeys = { ...asked, sort: ["-c", "createdAt"] };
    expect(suggest(twoKeys, withIndex(["a", "b", "-c", "-createdAt"]))?.advice).toEqual({
      index: ["a", "b", "-c", "createdAt"],
    });
  });

  it("leaves out what no index can hold", () => {
    expect(advice({ filter: { the_json: null, the_int: 1 } }, "samples")).toEqual({ index: ["the_int"] });
  });
});

describe("what is suggested is what a definition accepts", () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_each, at) => `c${at}`);
  const COLUMNS = [
    ...names(60).map((name) => ({ name, type: "int" })),
    ...["some", "more"].map((name) => ({ name, type: "enumList", options: { values: ["red", "green"] } })),
    { name: "code", type: "string", unique: true },
    { name: "secret", type: "string", encrypted: true },
    { name: "quiet", type: "string", hidden: true },
    { name: "extra", type: "json" },
  ];
  const RELATIONS = [
    { name: "parent", type: "many-to-one", table: "things", inverse: "children" },
    { name: "owner", type: "one-to-one", table: "things", inverse: "owned" },
    { name: "links", type: "many-to-many", table: "things", inverse: "backlinks" },
  ];
  const THINGS: JsonObject = { name: "things", idType: "string", columns: COLUMNS, relations: RELATIONS };

  /** The definition, changed as it is advised. */
  function heeded(definition: JsonObject, advice: NonNullable<Advice>): Catalog {
    if ("index" in advice) {
      const { indexes } = definition;
      return catalogOf([
        { ...definition, indexes: [...(Array.isArray(indexes) ? indexes : []), advice.index] },
      ]);
    }
    if ("searchable" in advice) {
      const columns = COLUMNS.map((each) =>
        each.name === advice.searchable ? { ...each, searchable: true } : each,
      );
      return catalogOf([{ ...definition, columns }]);
    }
    const relations = RELATIONS.map((each) =>
      each.inverse === advice.counted ? { ...each, counted: true } : each,
    );
    return catalogOf([{ ...definition, relations }]);
  }

  const needed = (of: Catalog): number => {
    const things = of.tables.get("things");
    return things === undefined ? Number.NaN : indexesOf(things).length;
  };

  const equal = (...fields: string[]): QueryShape["filter"] =>
    fields.map((field) => ({ field, test: "equality" }));
  const FULL = { ...THINGS, indexes: names(MAX_INDEXES - 8).map((name) => [name]) };
  const KEPT = { ...THINGS, softDelete: true };

  it("begins with tables that are as full as can be", () => {
    expect(needed(catalogOf([FULL]))).toBe(MAX_INDEXES);
  });

  it.each<[what: string, asked: Partial<QueryShape>, advice: Advice | undefined, definition?: JsonObject]>([
    ["every id is found by its own index", { filter: [{ field: "id", test: "range" }] }, undefined],
    ["and that lies in order", { filter: [{ field: "c1", test: "negated" }], sort: ["-id"] }, undefined],
    [
      "nothing lies in order after an id",
      { filter: equal("c1"), sort: ["-id", "c2"] },
      { index: ["c1", "-id"] },
    ],
    [
      "an index is closed by the id already",
      { filter: equal("c1"), sort: ["-id", "c2"] },
      undefined,
      { ...THINGS, indexes: [["c1"]] },
    ],
    ["ids are not searched", { filter: [{ field: "id", test: "text" }] }, null],
    [
      "nor do they keep another column from being searched",
      {
        filter: [
          { field: "id", test: "text" },
          { field: "quiet", test: "text" },
        ],
      },
      { searchable: "quiet" },
    ],
    ["hidden columns can be indexed", { filter: equal("quiet") }, { index: ["quiet"] }],
    ["one list at most", { filter: equal("c1", "more", "some") }, { index: ["c1", "more"] }],
    [
      "what is sealed or untyped can't",
      { filter: [{ field: "extra", test: "null" }, ...equal("secret")] },
      null,
    ],
    ["links to one record can", { filter: equal("parent", "c1") }, { index: ["parent", "c1"] }],
    ["links to many can't", { filter: equal("links", "c1") }, { index: ["c1"] }],
    ["links that others store can't", { filter: equal("children", "owned", "backlinks") }, null],
    ["sixteen names are the most", { filter: equal(...names(20)) }, { index: names(16) }],
    ["a longer index serves", { filter: equal("c2") }, undefined, { ...THINGS, indexes: [["c2", "c1"]] }],
    ["what is unique has an index", { filter: equal("code") }, undefined],
    ["which lacks those without a value", { filter: [{ field: "code", test: "null" }] }, { index: ["code"] }],
    ["and so can't give the order of all", { sort: ["code"] }, { index: ["code"] }],
    ["the same for links", { filter: [{ field: "owner", test: "null" }] }, { index: ["owner"] }],
    [
      "when a record was deleted can't be indexed with others",
      { filter: equal("c1"), sort: ["-deletedAt", "c2"] },
      { index: ["c1"] },
      KEPT,
    ],
    ["children are counted", { sort: ["_count(children)"] }, { counted: "children" }],
    ["but not where deleted ones are kept", { sort: ["_count(children)"] }, null, KEPT],
    ["no index where there is no room", { filter: equal("c55") }, null, FULL],
    [
      "no searchable column where there is no room",
      { filter: [{ field: "quiet", test: "text" }] },
      null,
      FULL,
    ],
    ["no counted relation where there is no room", { sort: ["_count(children)"] }, null, FULL],
  ])("%s", (_what, asked, expected, definition = THINGS) => {
    const asks: QueryShape = { table: "things", filter: [], sort: [], ...asked };
    const advice = suggest(asks, catalogOf([definition]))?.advice;
    expect(advice).toEqual(expected);
    if (advice === undefined || advice === null) return;
    const after = heeded(definition, advice);
    expect(needed(after)).toBe(needed(catalogOf([definition])) + 1);
    expect(suggest(asks, after)?.advice).not.toEqual(advice);
  });

  it.each<[what: string, asked: Partial<QueryShape>, then: string]>([
    ["an index", { filter: equal("c55") }, 'Add ["c55"] to the indexes of "things".'],
    [
      "a searchable column",
      { filter: [{ field: "quiet", test: "text" }] },
      'Make "quiet" of "things" searchable, so that text inside it is found without reading every record.',
    ],
    [
      "a number of children",
      { sort: ["_count(children)"] },
      'Set "counted": true on the relation "parent" of "things", so that "things" knows how many "children" each record has.',
    ],
  ])("says what stands against %s where there is no room", (_what, asked, then) => {
    const asks: QueryShape = { table: "things", filter: [], sort: [], ...asked };
    expect(suggest(asks, catalogOf([FULL]))?.sentence).toBe(
      `"things" has 56 indexes, the most there can be. Remove one first. ${then}`,
    );
  });
});

describe("other advice", () => {
  it("for text inside a column is to make it searchable, until it is", () => {
    expect(advice({ filter: { title: { _contains: "a" }, pages: 1 } })).toEqual({ searchable: "title" });
    const searchable = catalogOf([
      {
        name: "books",
        columns: [
          { name: "title", type: "string", searchable: true },
          { name: "pages", type: "int" },
        ],
      },
    ]);
    expect(
      suggest(shape({ filter: { title: { _contains: "a" } }, sort: "pages" }), searchable)?.advice,
    ).toEqual({ index: ["pages"] });
  });

  it("for a sort by the number of children names the relation that should be counted, on the table it is made on", () => {
    const suggestion = suggest(shape({ sort: "-_count(reviews)" }), catalog);
    expect(suggestion?.advice).toEqual({ counted: "reviews" });
    expect(suggestion?.sentence).toContain('"counted": true on the relation "book" of "reviews"');
  });

  it("for what no index narrows is to ask for something else", () => {
    expect(advice({ filter: { pages: { _neq: 5 } } })).toBeNull();
    expect(advice({ sort: "author.name" })).toBeNull();
  });

  it("is none for a table or column that is gone", () => {
    expect(suggest({ table: "gone", filter: [], sort: [] }, catalog)).toBeUndefined();
    const gone: QueryShape = { table: "books", filter: [{ field: "gone", test: "equality" }], sort: [] };
    expect(suggest(gone, catalog)).toBeUndefined();
  });
});
