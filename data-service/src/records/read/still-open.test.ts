// Whether what a lasting answer shows still lies where it began to read.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { ColumnDefinition, RelationDefinition } from "../../catalog/definition.js";
import { bareColumn, bareRelation, bareTable } from "../../catalog/definition-fixture.js";
import { ReadView } from "../../permission/read-view.js";
import { ALWAYS, type AuthorizedPredicate } from "../../query/ast.js";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import type { Parameters as Asked } from "../../query/parameters.js";
import { isStillOpen, type Shown } from "./still-open.js";

interface Changed {
  readonly column?: Partial<ColumnDefinition>;
  readonly relation?: Partial<RelationDefinition>;
  readonly field?: string;
  readonly target?: string;
  /** Of tables and members whose records are still worked through. */
  readonly building?: readonly string[];
  /** Of the people. */
  readonly name?: Partial<ColumnDefinition>;
  /** Of the towns that people are from. */
  readonly townName?: Partial<ColumnDefinition>;
}

/** Books with a title and an author, who has a number of books and is from a town, and one thing about them changed. */
function catalogWith({
  column = {},
  relation = {},
  field = "authorId",
  target = "people",
  building = [],
  name = {},
  townName = {},
}: Changed): Catalog {
  const tableNamed = (called: string, of = name, relations: RelationDefinition[] = []) =>
    bareTable(called, {
      id: `id of ${called}`,
      columns: [bareColumn("name", { id: "c2", ...of })],
      relations,
      storage: { collection: called, fields: { c2: "name", ...(relations.length > 0 && { r2: "townId" }) } },
    });
  const people = tableNamed("people", name, [bareRelation("town", "towns", { id: "r2" })]);
  const title = bareColumn("title", { id: "c1", ...column });
  const author = bareRelation("author", target, { id: "r1", inverse: "books", counted: true, ...relation });
  const storage = { collection: "books", fields: { c1: "title", r1: field }, building };
  const books = bareTable("books", { id: "id of books", columns: [title], relations: [author], storage });
  return buildCatalog(0, [people, tableNamed("others"), tableNamed("towns", townName), books], []);
}

const LIMITS = { maxDepth: 7, maxLimit: undefined };
const before = catalogWith({});

interface Asking extends Partial<Asked> {
  /** Of the books. */
  readonly rule?: AuthorizedPredicate;
  /** Of the people. */
  readonly peopleRule?: AuthorizedPredicate;
}

function shown(fields: string, { rule, peopleRule = ALWAYS, ...more }: Asking = {}, of = "books"): Shown {
  const table = before.tables.get(of);
  if (table === undefined) throw new Error("the catalog lacks its table");
  const view = new ReadView(before, ({ name }) => {
    const rows = name === "people" ? peopleRule : ALWAYS;
    return { rows, grants: [{ rows, members: () => true }] };
  });
  const query = bindQuery({ filterFromText: false, fields, ...more }, table, view, LIMITS);
  return authorizeRead(query, view, rule);
}

const BY_ANN = { author: { name: "Ann" } };

describe("an answer that lasts is still open", () => {
  it.each<[string, Changed]>([
    ["nothing has changed", {}],
    [
      "a column and a relation have other names",
      { column: { name: "heading" }, relation: { name: "writer" } },
    ],
  ])("when %s", (_what, changed) => {
    expect(isStillOpen(shown("title,author.id"), catalogWith(changed))).toBe(true);
  });

  it("when a column is hidden that it does not show", () => {
    expect(isStillOpen(shown("id"), catalogWith({ column: { hidden: true } }))).toBe(true);
  });

  it("when a table is stored otherwise that has no part in it", () => {
    expect(isStillOpen(shown("id"), catalogWith({ name: { encrypted: true } }))).toBe(true);
  });

  it("when numbers of its records are not kept any more by those that they belong to", () => {
    expect(isStillOpen(shown("title"), catalogWith({ relation: { counted: false } }))).toBe(true);
  });

  it("when a column is hidden that only its filter speaks of", () => {
    expect(isStillOpen(shown("id", { filter: BY_ANN }), catalogWith({ name: { hidden: true } }))).toBe(true);
  });
});

describe("an answer that lasts is not open any more", () => {
  it.each<[string, Changed]>([
    ["a column that it shows is hidden", { column: { hidden: true } }],
    ["a column has another type", { column: { type: "int" } }],
    ["a relation is stored elsewhere", { field: "author_2" }],
    ["a relation has become to-many", { relation: { type: "many-to-many" } }],
    ["a relation that it shows leads to another table", { target: "others" }],
  ])("when %s", (_what, changed) => {
    expect(isStillOpen(shown("title,author.id"), catalogWith(changed))).toBe(false);
  });

  it.each<[string, Parameters<typeof shown>[1]]>([
    ["its filter goes", { filter: BY_ANN }],
    ["its filter goes, in a negation", { filter: { _not: { _and: [BY_ANN] } } }],
    ["the rule for its records goes", { rule: shown("id", { filter: BY_ANN }).root.filter }],
    ["it is sorted", { sort: "author.name" }],
  ])("when a table is stored otherwise through which %s", (_what, parameters) => {
    const changed = catalogWith({ name: { encrypted: true } });
    expect(isStillOpen(shown("id", parameters), changed)).toBe(false);
  });

  it.each<[string, Changed]>([
    ["are not kept any more", { relation: { counted: false } }],
    ["are being counted anew", { building: ["r1"] }],
  ])("when the numbers of children that it reads %s", (_what, changed) => {
    expect(isStillOpen(shown("_count(books)", {}, "people"), catalogWith(changed))).toBe(false);
    expect(isStillOpen(shown("id", { filter: { author: { books: {} } } }), catalogWith(changed))).toBe(false);
  });

  it("when a table is stored otherwise that decides which records count by which it is sorted", () => {
    const inRome = { town: { name: "Rome" } };
    const peopleRule = shown("id", { filter: inRome }, "people").root.filter;
    const changed = catalogWith({ townName: { encrypted: true } });
    expect(isStillOpen(shown("id", { sort: "author.name", peopleRule }), changed)).toBe(false);
    expect(isStillOpen(shown("id", { peopleRule }), changed)).toBe(true);
  });
});
