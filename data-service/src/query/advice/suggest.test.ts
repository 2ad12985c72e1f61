import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
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
    [{ author: { name: "Ann" } }, ["author joined"]],
    [{ reviews: {} }, ["reviews joined"]],
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

describe("the index for a shape", () => {
  it.each<[asked: Asked, index: string[]]>([
    [{ filter: { pages: 5 } }, ["pages"]],
    [{ filter: { pages: { _gt: 5 } } }, ["pages"]],
    [{ sort: "-pages" }, ["-pages"]],
    [{ filter: { title: "a" }, sort: "-pages" }, ["title", "-pages"]],
    [
      { filter: { price: { _gt: "1" }, title: "a" }, sort: "-pages,createdAt" },
      ["title", "-pages", "createdAt", "price"],
    ],
    [{ filter: { author: 5, pages: 1 } }, ["author", "pages"]],
    [{ filter: { pages: 1 }, sort: "author.name,price" }, ["pages"]],
    [{ filter: { title: "a", _or: [{ pages: 1 }, { price: "2" }] } }, ["title"]],
  ])("begins with equality, goes on with the sort, ends with a range: %j", (asked, index) => {
    expect(advice(asked)).toEqual({ index });
  });

  it.each<[asked: Asked]>([
    [{ filter: { id: 5, pages: 1 } }],
    [{ filter: { author: 5 } }],
    [{ filter: { author: 5 }, sort: "-createdAt" }],
    [{ sort: "createdAt" }],
  ])("is not suggested when the table has it: %j", (asked) => {
    expect(suggest(shape(asked), catalog)).toBeUndefined();
  });

  it("counts as there once the table declares it, with the fields of equality in any order, read from either end", () => {
    const columns = ["a", "b", "c"].map((name) => ({ name, type: "int" }));
    const asked: QueryShape = {
      table: "things",
      filter: ["a", "b"].map((field) => ({ field, test: "equality" })),
      sort: ["-c"],
    };
    const withIndex = (...indexes: string[][]) => catalogOf([{ name: "things", columns, indexes }]);
    expect(suggest(asked, withIndex())?.advice).toEqual({ index: ["a", "b", "-c"] });
    expect(suggest(asked, withIndex(["a", "b", "-c"]))).toBeUndefined();
    expect(suggest(asked, withIndex(["b", "a", "c"]))).toBeUndefined();
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
