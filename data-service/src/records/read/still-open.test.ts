// Whether what a lasting answer shows still lies where it began to read.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { ColumnDefinition, RelationDefinition } from "../../catalog/definition.js";
import { bareColumn, bareRelation, bareTable } from "../../catalog/definition-fixture.js";
import { ReadView } from "../../permission/read-view.js";
import { ALWAYS } from "../../query/ast.js";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { isStillOpen } from "./still-open.js";

interface Changed {
  readonly column?: Partial<ColumnDefinition>;
  readonly relation?: Partial<RelationDefinition>;
  readonly field?: string;
  readonly target?: string;
}

/** Books with a title and an author, and one thing about them changed. */
function catalogWith({
  column = {},
  relation = {},
  field = "authorId",
  target = "people",
}: Changed): Catalog {
  const tableNamed = (name: string) =>
    bareTable(name, { id: `id of ${name}`, storage: { collection: name, fields: {} } });
  const title = bareColumn("title", { id: "c1", ...column });
  const author = bareRelation("author", target, { id: "r1", ...relation });
  const storage = { collection: "books", fields: { c1: "title", r1: field } };
  const books = bareTable("books", { id: "id of books", columns: [title], relations: [author], storage });
  return buildCatalog(0, [tableNamed("people"), tableNamed("others"), books], []);
}

const before = catalogWith({});
const view = new ReadView(before, () => ({ rows: ALWAYS, grants: [{ rows: ALWAYS, members: () => true }] }));

function shown(fields: string) {
  const table = before.tables.get("books");
  if (table === undefined) throw new Error("the catalog lacks its table");
  const limits = { maxDepth: 7, maxLimit: undefined };
  return authorizeRead(bindQuery({ filterFromText: false, fields }, table, view, limits), view).root;
}

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
});
