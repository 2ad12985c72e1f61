// Relations in filters are answered by their keys: which question is asked, and what its answer becomes.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Table } from "../../catalog/catalog.js";
import { checkDefinition } from "../../catalog/check-definition.js";
import type { TableDefinition } from "../../catalog/definition.js";
import { findForm } from "../../mongo/find-form.js";
import { ALWAYS, type AuthorizedRelated } from "../ast.js";
import { authorizePredicate } from "../authorize-read.js";
import { viewOf } from "../library-fixture.js";
import { matchStages } from "../lower/condition.js";
import { Names } from "../lower/document.js";
import { answered, keyQuestion } from "./key-question.js";

const definitions: TableDefinition[] = [];
define({ name: "authors", columns: [{ name: "name", type: "string" }] });
define({
  name: "posts",
  columns: [],
  relations: [
    { name: "author", type: "many-to-one", table: "authors", inverse: "posts" },
    { name: "readers", type: "many-to-many", table: "authors", inverse: "read" },
  ],
});
const catalog = buildCatalog(1, definitions, []);

function define(body: JsonObject): void {
  const catalog = buildCatalog(0, definitions, []);
  const checked = checkDefinition(body, { catalog, systemPrefix: "svc_", newId: randomUUID });
  if (!checked.ok) throw new Error(checked.problems.join());
  definitions.push(checked.definition);
}

function table(name: string): Table {
  const found = catalog.tables.get(name);
  if (found === undefined) throw new Error(name);
  return found;
}

/** posts.author or authors.posts with `name = Ann` or anything inside. */
function related(owner: string, name: string): AuthorizedRelated {
  const relation = table(owner).relations.get(name);
  const column = table("authors").columns.get("name");
  if (relation === undefined || column === undefined) throw new Error(name);
  const where =
    owner === "posts" ? { kind: "test" as const, column, test: { op: "eq" as const, value: "Ann" } } : ALWAYS;
  const bound = { kind: "related" as const, relation, target: table(relation.target), where };
  const authorized = authorizePredicate(bound, viewOf(ALWAYS, catalog));
  if (authorized.kind !== "related") throw new Error(name);
  return authorized;
}

describe("the question for a relation's keys", () => {
  test("asks a to-one target for the ids that make the filter true", () => {
    expect(keyQuestion(related("posts", "author"), true, 2)).toEqual([
      { $match: { name: { $eq: "Ann" } } },
      { $limit: 3 },
      { $project: { _id: 1 } },
    ]);
  });

  test("asks a to-one target for the ids that make it false when that is wanted, leaving out unknown", () => {
    expect(keyQuestion(related("posts", "author"), false, 2)[0]).toEqual({
      $match: { name: { $nin: ["Ann", null] } },
    });
  });

  test("asks the children of a to-many relation for the ids of their parents", () => {
    expect(keyQuestion(related("authors", "posts"), false, 2).at(-1)).toEqual({
      $project: { _id: 0, authorId: 1 },
    });
  });

  test("counts keys, not records, where a record holds a list of them", () => {
    expect(keyQuestion(related("authors", "read"), true, 2)).toEqual([
      { $unwind: "$readersIds" },
      { $limit: 3 },
      { $project: { _id: 0, readersIds: 1 } },
    ]);
  });

  test("is one for a find, unless lists of links have to be taken apart", () => {
    const isFind = (owner: string, name: string): boolean =>
      findForm(keyQuestion(related(owner, name), true, 2)) !== undefined;
    expect(isFind("posts", "author")).toBe(true);
    expect(isFind("authors", "posts")).toBe(true);
    expect(isFind("authors", "read")).toBe(false);
  });

  test("asks for ids where the list lies in the record itself", () => {
    expect(keyQuestion(related("posts", "readers"), true, 2)[0]).toEqual({
      $match: { name: { $eq: "Ann" } },
    });
    expect(keyQuestion(related("posts", "readers"), true, 2)).toHaveLength(3);
  });
});

describe("the answer in the relation's place", () => {
  const lowered = (owner: string, name: string, wanted: boolean, keys: number[]) => {
    const predicate = answered(related(owner, name), wanted, keys);
    return matchStages([wanted ? predicate : { kind: "not", of: predicate }], new Names());
  };

  test("to-one, true: the link is one of the keys", () => {
    expect(lowered("posts", "author", true, [1, 2])).toEqual([{ $match: { authorId: { $in: [1, 2] } } }]);
  });

  test("to-one, false: the link is one of the keys that make it false, so no link is not enough", () => {
    expect(lowered("posts", "author", false, [1])).toEqual([{ $match: { authorId: { $in: [1] } } }]);
  });

  test("to-many, false: the parent is none of the keys", () => {
    expect(lowered("authors", "posts", false, [1])).toEqual([{ $match: { _id: { $nin: [1] } } }]);
  });

  test("no keys match nothing, or everything when false is wanted of a to-many relation", () => {
    expect(lowered("posts", "author", true, [])).toEqual([{ $match: { _id: { $in: [] } } }]);
    expect(lowered("authors", "posts", false, [])).toEqual([]);
  });
});
