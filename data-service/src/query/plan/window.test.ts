// Which parents a window of their children in index order is enough for.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { Decimal128, ObjectId } from "bson";
import { buildCatalog } from "../../catalog/build-catalog.js";
import { checkDefinition } from "../../catalog/check-definition.js";
import {
  ALWAYS,
  type AuthorizedNode,
  type AuthorizedPredicate,
  type BoundNode,
  NEVER,
  type SortKey,
} from "../ast.js";
import { authorizeNode } from "../authorize-read.js";
import { table as libraryTable, rootView, viewOf } from "../library-fixture.js";
import { type ExtremeKey, enoughParents, firstParents } from "./window.js";

const empty = buildCatalog(0, [], []);
const body = { name: "posts", columns: [{ name: "title", type: "string" }] };
const checked = checkDefinition(body, { catalog: empty, systemPrefix: "svc_", newId: randomUUID });
if (!checked.ok) throw new Error(checked.problems.join());
const table = buildCatalog(1, [checked.definition], []).tables.get("posts");
const title = table?.columns.get("title");
if (table === undefined || title === undefined) throw new Error("posts");

const byId: SortKey = { kind: "column", path: [], column: table.idColumn, descending: false };
/** Stands for the key that the window is about. */
const first: SortKey = { kind: "column", path: [], column: title, descending: true };
const asked: BoundNode = {
  table,
  filter: ALWAYS,
  columns: [],
  children: [],
  counts: [],
  limit: 10,
  skip: 30,
  sort: [first, byId],
};

const authorized = (node: BoundNode, rule: AuthorizedPredicate): AuthorizedNode =>
  authorizeNode(node, viewOf(rule));

describe("the parents that are enough for a page", () => {
  test("are those before it, its own and some in reserve", () => {
    expect(enoughParents(authorized(asked, ALWAYS))).toBe(30 + 10 + 10);
  });

  test.each<[string, Partial<BoundNode>, AuthorizedPredicate]>([
    ["a filter leaves some out", { filter: NEVER }, ALWAYS],
    ["a rule leaves some out", {}, NEVER],
    ["another column orders those that are alike", { sort: [first, { ...first }, byId] }, ALWAYS],
    ["they are ordered by id downwards", { sort: [first, { ...byId, descending: true }] }, ALWAYS],
  ])("are unknown when %s", (_why, change, rule) => {
    expect(enoughParents(authorized({ ...asked, ...change }, rule))).toBeUndefined();
  });
});

describe("the first parents by their latest child", () => {
  const step = rootView.relation(libraryTable("authors"), "books", "use");
  const column = libraryTable("books").columns.get("pages");
  if (step === undefined || column === undefined) throw new Error("authors.books.pages");
  const key: ExtremeKey = { kind: "max", step, column, descending: true };
  const [link, field] = [step.relation.link.field, column.field];
  /** Children in their order: whose, and the value that counts. */
  const children = (...pairs: readonly (readonly [unknown, unknown])[]) =>
    pairs.map(([parent, value]) => ({ [link]: parent, [field]: value }));

  test("are those of the first children, each once", () => {
    const seen = children([7, 50], [3, 40], [7, 30], [9, 20]);
    expect(firstParents(key, seen, 5)).toEqual([7, 3, 9]);
  });

  test("leave out those whose children stand at the edge of what was seen, where it is full", () => {
    const seen = children([7, 50], [3, 20], [9, 20]);
    expect(firstParents(key, seen, 3)).toEqual([7]);
    expect(firstParents(key, children([7, new Date(5)], [3, new Date(2)], [9, new Date(2)]), 3)).toEqual([7]);
  });

  test("come by id where their children are alike", () => {
    const [one, two] = [new ObjectId("507f1f77bcf86cd799439011"), new ObjectId("507f1f77bcf86cd799439012")];
    expect(firstParents(key, children([10, 5], [9, 5], [1, 4]), 9)).toEqual([9, 10, 1]);
    expect(firstParents(key, children([two, "b"], [one, "b"]), 9)).toEqual([one, two]);
  });

  test.each<[string, readonly (readonly [unknown, unknown])[]]>([
    [
      "texts are alike in their children",
      [
        ["ä", 5],
        ["z", 5],
      ],
    ],
    ["a value may equal one of another kind", [[1, Decimal128.fromString("5")]]],
    ["a link may equal one of another kind", [[Decimal128.fromString("1"), 5]]],
    ["a link is a list", [[[1, 2], 5]]],
  ])("are for the database to tell when %s", (_why, pairs) => {
    expect(firstParents(key, children(...pairs), 9)).toBeUndefined();
  });
});
