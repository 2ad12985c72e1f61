// fields, deep, sort and aggregate: names -> a query, or a refusal with its path (contract 4).
import { describe, expect, it } from "@jest/globals";
import type { Json, JsonObject } from "@portico/shared/json";
import type { BoundNode, Query, SortKey } from "./ast.js";
import { bindQuery, bindRecordShape } from "./bind-query.js";
import { readerView, refusalOf, rootView, table } from "./library-fixture.js";
import type { Parameters } from "./parameters.js";

type Given = Omit<Parameters, "filterFromText">;

function bind(
  given: Given,
  { view = rootView, of = "books", maxDepth = 3, maxLimit = undefined as number | undefined } = {},
): Query {
  return bindQuery({ filterFromText: false, ...given }, table(of), view, { maxDepth, maxLimit });
}

/** The members of a node as short text: columns, then relations with theirs, then what is counted. */
function members({ columns, children, counts }: BoundNode): string {
  const relations = children.map(({ relation, node }) => `${relation.name}{${members(node)}}`);
  const counted = counts.map(({ step }) => `#${step.relation.name}`);
  return [...columns.map(({ name }) => name), ...relations, ...counted].join(" ");
}

const shape = (fields?: string, deep?: Json, view = rootView): string =>
  members(
    bind({ ...(fields === undefined ? {} : { fields }), ...(deep === undefined ? {} : { deep }) }, { view })
      .root,
  );

const ALL = "id title pages price royalty createdAt updatedAt";
const AUTHOR = "id name born createdAt updatedAt mentor{id} profile{id}";

describe("fields and deep", () => {
  it.each<[fields: string | undefined, members: string]>([
    [undefined, `${ALL} author{id}`],
    ["*", `${ALL} author{id}`],
    ["title", "title"],
    ["title,id", "id title"],
    ["author", "author{id}"],
    ["author.name", "author{id name}"],
    ["author.*", `author{${AUTHOR}}`],
    ["author.mentor.name,author.name", "author{id name mentor{id name}}"],
    ["reviews", "reviews{id}"],
    ["*,reviews.stars", `${ALL} author{id} reviews{id stars}`],
    ["-title", "id pages price royalty createdAt updatedAt author{id}"],
    ["-id", "title pages price royalty createdAt updatedAt author{id}"],
    ["-author", ALL],
    ["-title,pages,reviews", "id pages price royalty createdAt updatedAt author{id}"],
    ["-author.born", `${ALL} author{id name createdAt updatedAt mentor{id} profile{id}}`],
    ["-author.id", `${ALL} author{${AUTHOR}}`],
    ["title,-author.born", "title author{id name createdAt updatedAt mentor{id} profile{id}}"],
    ["note", "note"],
    ["*,note", "id title pages price royalty createdAt updatedAt note author{id}"],
    ["_count(reviews)", "#reviews"],
    ["title,_count(reviews),_count(tags),_count(reviews)", "title #reviews #tags"],
    ["*,_count(reviews)", `${ALL} author{id} #reviews`],
    ["-title,_count(reviews)", "id pages price royalty createdAt updatedAt author{id} #reviews"],
    ["-reviews,_count(reviews)", `${ALL} author{id} #reviews`],
    ["author._count(books)", "author{id #books}"],
    ["author,author._count(books)", "author{id #books}"],
    [
      "-author.born,author._count(books)",
      "author{id name createdAt updatedAt mentor{id} profile{id} #books}",
    ],
    [
      "title,-author.born,_count(tags)",
      "title author{id name createdAt updatedAt mentor{id} profile{id}} #tags",
    ],
    ["reviews,_count(reviews)", "reviews{id} #reviews"],
  ])("%s", (fields, expected) => {
    expect(shape(fields)).toBe(expected);
  });

  it.each<[fields: string | undefined, deep: Json, members: string]>([
    ["title", { author: {} }, `title author{${AUTHOR}}`],
    ["title", { author: { fields: "name" } }, "title author{id name}"],
    ["author.name", { author: {} }, "author{id name}"],
    ["author.name", { author: { fields: "born" } }, "author{id born}"],
    ["author", { author: {} }, "author{id}"],
    ["author", { author: { deep: { books: { fields: "title" } } } }, "author{id books{id title}}"],
    ["-author", { author: { fields: "name" } }, `${ALL} author{id name}`],
    ["title", { author: { fields: "_count(books)" } }, "title author{id #books}"],
    ["author._count(books)", { author: { fields: "name" } }, "author{id name}"],
    ["title,_count(reviews)", { reviews: { fields: "stars" } }, "title reviews{id stars} #reviews"],
    [
      "title",
      { reviews: { fields: "stars", deep: { book: { fields: "id" } } } },
      "title reviews{id stars book{id}}",
    ],
  ])("%s with deep %j", (fields, deep, expected) => {
    expect(shape(fields, deep)).toBe(expected);
  });

  it("leave out what the caller may not read, and refuse its names", () => {
    expect(shape("*", undefined, readerView)).toBe(`${ALL} author{id}`);
    for (const fields of ["note", "-note", "reviews", "reviews.stars", "-reviews.stars", "_count(reviews)"]) {
      const name = fields.includes("note") ? "note" : "reviews";
      expect(refusalOf(() => shape(fields, undefined, readerView))).toBe(
        `fields: unknown field "${name}" on "books"`,
      );
    }
    expect(refusalOf(() => shape("id", { reviews: {} }, readerView))).toBe(
      'deep.reviews: unknown field "reviews" on "books"',
    );
  });

  it("settings of deep land on the child", () => {
    const deep = {
      reviews: { filter: { stars: 5 }, sort: "-stars", limit: 3, page: 2 },
      author: { filter: { name: "A" } },
    };
    const [author, reviews] = bind({ fields: "author", deep }).root.children;
    expect(reviews?.node).toMatchObject({
      limit: 3,
      skip: 3,
      filter: { kind: "test", test: { op: "eq", value: 5 } },
      sort: [
        { kind: "column", descending: true },
        { kind: "column", descending: false },
      ],
    });
    expect(author?.node).toMatchObject({ limit: 1, skip: 0, sort: [], filter: { kind: "test" } });
  });

  it("a child has ten records unless said otherwise, and no more than the maximum", () => {
    expect(bind({ fields: "reviews" }).root.children[0]?.node.limit).toBe(10);
    expect(bind({ fields: "reviews" }, { maxLimit: 5 }).root.children[0]?.node.limit).toBe(5);
    expect(refusalOf(() => bind({ deep: { reviews: { limit: 6 } } }, { maxLimit: 5 }))).toBe(
      "deep.reviews.limit: is above the maximum of 5",
    );
  });

  it.each<[given: Given, message: string]>([
    [{ fields: "author.mentor.mentor.mentor.name" }, 'fields: "mentor" lies deeper than 3 relations'],
    [
      { deep: { author: { deep: { mentor: { deep: { mentor: { deep: { mentor: {} } } } } } } } },
      'deep.author.deep.mentor.deep.mentor.deep.mentor: "mentor" lies deeper than 3 relations',
    ],
    [
      { deep: { author: { fields: "mentor.mentor.mentor" } } },
      'deep.author.fields: "mentor" lies deeper than 3 relations',
    ],
    [
      { deep: { author: { deep: { mentor: { filter: { mentor: { mentor: {} } } } } } } },
      "deep.author.deep.mentor.filter.mentor.mentor: goes through more than 1 relations",
    ],
    [{ fields: "-author,author.mentor.mentor.mentor.name" }, 'fields: "mentor" lies deeper than 3 relations'],
    [{ fields: "-author,author.nope" }, 'fields: unknown field "nope" on "authors"'],
    [{ fields: "-author,-author.nope" }, 'fields: unknown field "nope" on "authors"'],
    [{ fields: "-author,author.mentor.nope" }, 'fields: unknown field "nope" on "authors"'],
    [
      { fields: "author.nope", deep: { author: { fields: "name" } } },
      'fields: unknown field "nope" on "authors"',
    ],
    [
      { fields: "-author,author.mentor.nope", deep: { author: { fields: "name" } } },
      'fields: unknown field "nope" on "authors"',
    ],
    [
      { deep: { author: { fields: "mentor.nope", deep: { mentor: { fields: "name" } } } } },
      'deep.author.fields: unknown field "nope" on "authors"',
    ],
    [{ fields: "title.x" }, 'fields: "title" of "books" is a column, not a relation'],
    [{ fields: "_count(title)" }, 'fields: "title" of "books" is a column, not a relation'],
    [
      { fields: "_count(author)" },
      'fields: _count(author): "author" is to-one, so there is nothing to count',
    ],
    [{ fields: "_count(reviewz)" }, 'fields: unknown field "reviewz" on "books"; did you mean "reviews"?'],
    [{ fields: "-author,author._count(nope)" }, 'fields: unknown field "nope" on "authors"'],
    [{ fields: "author.mentor.mentor._count(books)" }, 'fields: "books" lies deeper than 3 relations'],
    [
      { fields: "author._count(nope)", deep: { author: { fields: "name" } } },
      'fields: unknown field "nope" on "authors"',
    ],
    [{ fields: "autor.name" }, 'fields: unknown field "autor" on "books"; did you mean "author"?'],
    [{ deep: 5 }, "deep: must be an object keyed by relation, not a number"],
    [{ deep: { title: {} } }, 'deep.title: "title" of "books" is a column, not a relation'],
    [{ deep: { author: [] } }, 'deep.author: must be an object such as {"limit":3}, not a list'],
    [
      { deep: { author: { limit: 1 } } },
      'deep.author.limit: does not apply: "author" has at most one record',
    ],
    [
      { deep: { reviews: { filters: {} } } },
      "deep.reviews.filters: is not known; use fields, filter, sort, limit, page, deep",
    ],
  ])("%j is refused", (given, message) => {
    expect(refusalOf(() => bind(given))).toBe(message);
  });

  it("show ids of to-one relations that nobody named at the greatest depth too, and nothing deeper", () => {
    const at = (maxDepth: number, given: Given): string =>
      members(bind({ fields: "title", ...given }, { maxDepth }).root);
    expect(at(1, { deep: { author: {} } })).toBe(`title author{${AUTHOR}}`);
    expect(at(1, { fields: "author.*" })).toBe(`author{${AUTHOR}}`);
    expect(at(0, { fields: "*" })).toBe(`${ALL} author{id}`);
    for (const fields of ["author.mentor", "author.*,author.mentor", "author.mentor.id"])
      expect(refusalOf(() => at(1, { fields }))).toBe('fields: "mentor" lies deeper than 1 relations');
    expect(refusalOf(() => at(1, { deep: { author: { deep: { mentor: {} } } } }))).toBe(
      'deep.author.deep.mentor: "mentor" lies deeper than 1 relations',
    );
  });

  it("shape a single record, and nothing else does", () => {
    const node = bindRecordShape({ fields: "title", filterFromText: false }, table("books"), rootView, {
      maxDepth: 3,
      maxLimit: undefined,
    });
    expect(members(node)).toBe("title");
    expect(node).toMatchObject({ filter: { kind: "always" }, sort: [], limit: 1, skip: 0 });
  });
});

describe("sort", () => {
  const shownKey = (key: SortKey): string => {
    const direction = key.descending ? "-" : "";
    if (key.kind === "count") return `${direction}count(${key.step.relation.name})`;
    if (key.kind !== "column") return `${direction}${key.kind}(${key.step.relation.name}.${key.column.name})`;
    return direction + [...key.path.map(({ relation }) => relation.name), key.column.name].join(".");
  };
  const keys = (sort?: string): string =>
    bind(sort === undefined ? {} : { sort })
      .root.sort.map(shownKey)
      .join(" ");

  it.each<[sort: string | undefined, keys: string]>([
    [undefined, "id"],
    ["title", "title id"],
    ["-title,pages", "-title pages id"],
    ["-id", "-id"],
    ["id,title", "id title"],
    ["title,-title", "title id"],
    ["author.mentor.name", "author.mentor.name id"],
    [
      "-_count(reviews),_max(reviews.stars),_min(tags.label)",
      "-count(reviews) max(reviews.stars) min(tags.label) id",
    ],
  ])("%s", (sort, expected) => {
    expect(keys(sort)).toBe(expected);
  });

  it.each([
    ["xyz", 'sort: unknown field "xyz" on "books"'],
    ["author", 'sort: "author" is a relation; sort by author.id or another of its columns'],
    ["tags", 'sort: "tags" is a to-many relation; sort by _count(tags)'],
    [
      "reviews.stars",
      'sort: "reviews.stars" goes through the to-many relation "reviews"; use _max(reviews.stars) or _count(reviews)',
    ],
    [
      "author.books.title",
      'sort: "author.books.title" goes through the to-many relation "books", by which only "authors" can be sorted',
    ],
    [
      "reviews.book.title",
      'sort: "reviews.book.title" goes through the to-many relation "reviews"; use _count(reviews)',
    ],
    [
      "author.mentor",
      'sort: "author.mentor" is a relation; sort by author.mentor.id or another of its columns',
    ],
    ["author.pupils", 'sort: "author.pupils" is a to-many relation, by which only "authors" can be sorted'],
    ["_count(author)", 'sort: _count(author): "author" is to-one, so there is nothing to count'],
    ["_max(author.born)", 'sort: _max(author.born): "author" is to-one; write author.born instead'],
    ["-_min(author.born)", 'sort: _min(author.born): "author" is to-one; write author.born instead'],
    ["_max(reviews.book)", 'sort: "book" is a relation; _max takes a column of "reviews"'],
    ["_count(title)", 'sort: "title" of "books" is a column, not a relation'],
    ["_max(reviews.nope)", 'sort: unknown field "nope" on "reviews"'],
    ["royalty", 'sort: "royalty" is encrypted and can\'t be sorted by'],
    ["author.mentor.mentor.mentor.name", "sort: goes through more than 3 relations"],
  ])("%s is refused", (sort, message) => {
    expect(refusalOf(() => keys(sort))).toBe(message);
  });

  it.each(["_count(pupils)", "_max(pupils.name)"])("%s counts as one relation more", (sort) => {
    const atDepth = (depth: number): JsonObject =>
      depth === 0 ? { pupils: { sort } } : { mentor: { deep: atDepth(depth - 1) } };
    expect(() => bind({ deep: atDepth(1) }, { of: "authors" })).not.toThrow();
    expect(refusalOf(() => bind({ deep: atDepth(2) }, { of: "authors" }))).toBe(
      "deep.mentor.deep.mentor.deep.pupils.sort: goes through more than 3 relations",
    );
  });

  it("refuses names the caller may not know", () => {
    expect(refusalOf(() => bind({ sort: "note" }, { view: readerView }))).toBe(
      'sort: unknown field "note" on "books"',
    );
    expect(refusalOf(() => bind({ sort: "_count(reviews)" }, { view: readerView }))).toBe(
      'sort: unknown field "reviews" on "books"',
    );
    expect(refusalOf(() => bind({ sort: "_max(books.note)" }, { view: readerView, of: "authors" }))).toBe(
      'sort: unknown field "note" on "books"',
    );
  });

  it.each(["json", "enumList"])("a column of type %s can't be sorted by", (type) => {
    expect(refusalOf(() => bind({ sort: `the_${type}` }, { of: "samples" }))).toBe(
      `sort: "the_${type}" has the type ${type} and can't be sorted by`,
    );
  });
});

describe("aggregate", () => {
  it("binds columns with their operations and relations with count", () => {
    const { aggregate } = bind({ aggregate: { pages: { sum: true, avg: true }, reviews: { count: true } } });
    expect(aggregate).toMatchObject([
      { kind: "column", column: { name: "pages" }, ops: ["sum", "avg"] },
      { kind: "relation", step: { relation: { name: "reviews" } } },
    ]);
  });

  it.each<[given: Json, view: typeof rootView, message: string]>([
    [
      { pagse: { sum: true } },
      rootView,
      'aggregate.pagse: unknown field "pagse" on "books"; did you mean "pages"?',
    ],
    [{ note: { max: true } }, readerView, 'aggregate.note: unknown field "note" on "books"'],
    [{ reviews: { count: true } }, readerView, 'aggregate.reviews: unknown field "reviews" on "books"'],
    [{ title: { sum: true } }, rootView, "aggregate.title.sum: is not possible here; use count, min, max"],
    [{ royalty: { min: true } }, rootView, "aggregate.royalty.min: is not possible here; use count"],
    [{ tags: { max: true } }, rootView, "aggregate.tags.max: is not possible here; use count"],
    [
      { author: { count: true } },
      rootView,
      "aggregate.author: is a to-one relation; only to-many relations can be counted",
    ],
    [{ pages: { sum: 1 } }, rootView, "aggregate.pages.sum: must be true, not a number"],
    [{ pages: {} }, rootView, 'aggregate.pages: must be an object such as {"count":true}'],
    [[], rootView, 'aggregate: must be an object such as {"views":{"sum":true}}, not a list'],
  ])("%j is refused", (aggregate, view, message) => {
    expect(refusalOf(() => bind({ aggregate }, { view }))).toBe(message);
  });
});
