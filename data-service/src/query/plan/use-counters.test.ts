// Kept numbers of children replace counting where they tell the caller's truth.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Relation, Table } from "../../catalog/catalog.js";
import { checkDefinition } from "../../catalog/check-definition.js";
import type { TableDefinition } from "../../catalog/definition.js";
import { ALWAYS, type BoundNode, NEVER, type Predicate } from "../ast.js";
import { authorizePredicate, authorizeRead, rowRules } from "../authorize-read.js";
import { viewOf } from "../library-fixture.js";
import { counterFor } from "../lower/counter-for.js";
import { useCounters } from "./use-counters.js";

const definitions: TableDefinition[] = [];
const define = (body: JsonObject): void => {
  const catalog = buildCatalog(0, definitions, []);
  const checked = checkDefinition(body, { catalog, systemPrefix: "svc_", newId: randomUUID });
  if (!checked.ok) throw new Error(checked.problems.join());
  definitions.push(checked.definition);
};
const child = { type: "many-to-one", table: "posts" };
define({ name: "posts", columns: [] });
define({ name: "notes", relations: [{ name: "post", inverse: "notes", ...child }] });
define({ name: "comments", relations: [{ name: "post", inverse: "comments", counted: true, ...child }] });

const tables = (from: readonly TableDefinition[]) => buildCatalog(1, from, []).tables;
const table = (name: string, from: readonly TableDefinition[] = definitions): Table => {
  const found = tables(from).get(name);
  if (found === undefined) throw new Error(name);
  return found;
};
const relation = (name: string, from: readonly TableDefinition[] = definitions): Relation => {
  const found = table("posts", from).relations.get(name);
  if (found === undefined) throw new Error(name);
  return found;
};
const comments = relation("comments");
const step = (of: Relation) => ({ relation: of, target: table(of.target) });
const exists = (of: Relation): Predicate => ({ kind: "exists", ...step(of) });
const view = viewOf(ALWAYS, buildCatalog(1, definitions, []));
const everything = rowRules(view);
const nothing = rowRules(viewOf(NEVER, buildCatalog(1, definitions, [])));

const bare: BoundNode = {
  table: table("posts"),
  columns: [],
  children: [],
  counts: [],
  limit: 10,
  skip: 0,
  filter: ALWAYS,
  sort: [],
};
const column = comments.counter?.column;
const has = { kind: "not", of: { kind: "test", column, test: { op: "isNull" } } };

describe("the number a counted relation keeps", () => {
  test("is there on the parent's side of a counted relation", () => {
    expect(counterFor(comments, table("comments"), everything)).toBe(comments.counter);
    expect(counterFor(relation("notes"), table("notes"), everything)).toBeUndefined();
    const post = table("comments").relations.get("post");
    expect(post && counterFor(post, table("posts"), everything)).toBeUndefined();
  });

  test("does not tell what a caller under a row rule sees", () => {
    expect(counterFor(comments, table("comments"), nothing)).toBeUndefined();
  });

  test("is not asked while it is still being counted", () => {
    const building = definitions.map((each) => ({
      ...each,
      storage: { ...each.storage, building: each.relations.map(({ id }) => id) },
    }));
    const unfinished = relation("comments", building);
    expect(unfinished.counter).toBeDefined();
    expect(counterFor(unfinished, table("comments", building), everything)).toBeUndefined();
  });

  test("stands in for `{}` of its relation as well, which asks for any child, and for no other condition", () => {
    const any = (of: Relation, where: Predicate = ALWAYS): Predicate => ({
      kind: "related",
      ...step(of),
      where,
    });
    const inFilter = (filter: Predicate) =>
      useCounters(authorizeRead({ root: { ...bare, filter }, meta: [], aggregate: [] }, view)).root.filter;
    expect(inFilter(any(comments))).toEqual(has);
    expect(inFilter({ kind: "not", of: any(comments) })).toEqual({ kind: "not", of: has });
    const isOld: Predicate = { kind: "test", column: table("comments").createdAt, test: { op: "isNull" } };
    for (const other of [any(relation("notes")), any(comments, isOld)])
      expect(inFilter(other)).toEqual(authorizePredicate(other, view));
  });

  test("stands in for counting in sorts and fields, and for looking in filters, at every depth", () => {
    const asked: BoundNode = {
      ...bare,
      counts: [
        { kind: "counted", step: step(comments) },
        { kind: "counted", step: step(relation("notes")) },
      ],
      filter: { kind: "and", of: [{ kind: "not", of: exists(comments) }, exists(relation("notes"))] },
      sort: [
        { kind: "count", step: step(comments), descending: true },
        { kind: "count", step: step(relation("notes")), descending: false },
      ],
    };
    const query = authorizeRead({ root: asked, meta: [], aggregate: [] }, view);
    const { root } = useCounters(query);
    expect(root.sort[0]).toEqual({ kind: "column", path: [], column, descending: true });
    expect(root.sort[1]).toEqual(asked.sort[1]);
    expect(root.counts).toEqual([{ kind: "stored", step: step(comments), column }, asked.counts[1]]);
    expect(root.filter).toEqual({
      kind: "and",
      of: [{ kind: "not", of: has }, authorizePredicate(exists(relation("notes")), view)],
    });
  });
});
