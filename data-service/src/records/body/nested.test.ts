// Records inside a body are found, and replaced by the ids they were created with.
import { describe, expect, test } from "@jest/globals";
import { isObject, type Json, type JsonObject } from "@portico/shared/json";
import { buildCatalog } from "../../catalog/build-catalog.js";
import { checkDefinition } from "../../catalog/check-definition.js";
import type { TableDefinition } from "../../catalog/definition.js";
import { nestedIn, withIds } from "./nested.js";

function defined(json: JsonObject, before: readonly TableDefinition[]): TableDefinition {
  const catalog = buildCatalog(0, before, []);
  const checked = checkDefinition(json, { catalog, systemPrefix: "svc_", newId: () => crypto.randomUUID() });
  if (!checked.ok) throw new Error(checked.problems.join());
  return checked.definition;
}

const authors = defined({ name: "authors", columns: [] }, []);
const relations = [{ name: "author", type: "many-to-one", table: "authors", inverse: "books" }];
const books = defined({ name: "books", columns: [{ name: "info", type: "json" }], relations }, [authors]);
const catalog = buildCatalog(1, [authors, books], []);

function found(table: string, body: Json) {
  const built = catalog.tables.get(table);
  if (built === undefined || !isObject(body)) throw new Error(table);
  return { body, nested: nestedIn(body, built, catalog) };
}

describe("nested records", () => {
  test.each<[string, string, Json, string[]]>([
    ["an object without id", "books", { author: { name: "Ann" } }, ["author"]],
    ["an empty object", "books", { author: {} }, ["author"]],
    [
      "members of a list",
      "authors",
      { books: ["a", {}, { id: "b" }, { title: "c" }] },
      ["books[1]", "books[3]"],
    ],
    ["no id, null or object with an id", "books", { author: { id: "a", name: "Ann" } }, []],
    ["nothing of a column", "books", { info: { any: "thing" } }, []],
    ["nothing where a list should be", "authors", { books: { title: "c" } }, []],
    ["nothing of what is no object", "books", [{ author: {} }], []],
  ])("are %s", (_, table, body, paths) => {
    const built = catalog.tables.get(table);
    if (built === undefined) throw new Error(table);
    expect(nestedIn(body, built, catalog).map(({ path }) => path)).toEqual(paths);
  });
});

describe("a body with ids in the place of nested records", () => {
  test("has them where the records stood", () => {
    const { body, nested } = found("authors", { name: "x", books: ["a", { title: "b" }, "c"] });
    expect(withIds(body, nested, new Map([["books[1]", "new"]]))).toEqual({
      name: "x",
      books: ["a", "new", "c"],
    });
    const one = found("books", { author: { name: "Ann" } });
    expect(withIds(one.body, one.nested, new Map([["author", "new"]]))).toEqual({ author: "new" });
  });

  test("leaves out those that link to it themselves, and a relation of which nothing is left", () => {
    const { body, nested } = found("authors", { books: [{ title: "b" }, "c"] });
    expect(withIds(body, nested, new Map())).toEqual({ books: ["c"] });
    const all = found("authors", { books: [{ title: "b" }] });
    expect(withIds(all.body, all.nested, new Map())).toEqual({});
  });
});
