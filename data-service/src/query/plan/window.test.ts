import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { buildCatalog } from "../../catalog/build-catalog.js";
import { checkDefinition } from "../../catalog/check-definition.js";
import { ALWAYS, type AuthorizedNode, NEVER, type SortKey } from "../ast.js";
import { enoughParents } from "./window.js";

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
const node: AuthorizedNode = {
  ...{ table, rule: ALWAYS, filter: ALWAYS, columns: [], children: [], limit: 10, skip: 30 },
  sort: [first, byId],
};

describe("the parents that are enough for a page", () => {
  test("are those before it, its own and some in reserve", () => {
    expect(enoughParents(node)).toBe(30 + 10 + 10);
  });

  test.each<[string, Partial<AuthorizedNode>]>([
    ["a filter leaves some out", { filter: NEVER }],
    ["a rule leaves some out", { rule: NEVER }],
    ["another column orders those that are alike", { sort: [first, { ...first }, byId] }],
    ["they are ordered by id downwards", { sort: [first, { ...byId, descending: true }] }],
  ])("are unknown when %s", (_why, change) => {
    expect(enoughParents({ ...node, ...change })).toBeUndefined();
  });
});
