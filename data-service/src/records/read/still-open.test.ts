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
import { isStillOpen } from "./still-open.js";

interface Changed {
  readonly column?: Partial<ColumnDefinition>;
  readonly relation?: Partial<RelationDefinition>;
  readonly field?: string;
  readonly target?: string;
  /** Of the people. */
  readonly name?: Partial<ColumnDefinition>;
}

/** Books with a title and an author, and one thing about them changed. */
function catalogWith({
  column = {},
  relation = {},
  field = "authorId",
  target = "people",
  name = {},
}: Changed): Catalog {
  const tableNamed = (called: string) =>
    bareTable(called, {
      id: `id of ${called}`,
      columns: [bareColumn("name", { id: "c2", ...name })],
      storage: { collection: called, fields: { c2: "name" } },
    });
  const title = bareColumn("title", { id: "c1", ...column });
  const author = bareRelation("author", target, { id: "r1", ...relation });
  const storage = { collection: "books", fields: { c1: "title", r1: field } };
  const books = bareTable("books", { id: "id of books", columns: [title], relations: [author], storage });
  return buildCatalog(0, [tableNamed("people"), tableNamed("others"), books], []);
}

const LIMITS = { maxDepth: 7, maxLimit: undefined };
const before = catalogWith({});
const view = new ReadView(before, () => ({ rows: ALWAYS, grants: [{ rows: ALWAYS, members: () => true }] }));

function shown(fields: string, { rule, ...more }: Partial<Asked> & { rule?: AuthorizedPredicate } = {}) {
  const table = before.tables.get("books");
  if (table === undefined) throw new Error("the catalog lacks its table");
  const query = bindQuery({ filterFromText: false, fields, ...more }, table, view, LIMITS);
  return authorizeRead(query, view, rule).root;
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
    ["the rule for its records goes", { rule: shown("id", { filter: BY_ANN }).filter }],
    ["it is sorted", { sort: "author.name" }],
  ])("when a table is stored otherwise through which %s", (_what, parameters) => {
    const changed = catalogWith({ name: { encrypted: true } });
    expect(isStillOpen(shown("id", parameters), changed)).toBe(false);
  });
});
