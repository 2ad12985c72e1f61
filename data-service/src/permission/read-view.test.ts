import { describe, expect, it } from "@jest/globals";
import type { SystemTableDefinition } from "../catalog/build-catalog.js";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Table } from "../catalog/catalog.js";
import { systemTables } from "../catalog/system-tables.js";
import type { Principal } from "../principal.js";
import { ALWAYS, NEVER } from "../query/ast.js";
import { catalog, readerView, rootView, table } from "../query/library-fixture.js";
import { ownRecordPolicies, readPolicies, requireAccess, writeView } from "./access.js";
import { ReadView } from "./read-view.js";

const names = (view: ReadView, of: string): string => view.names(table(of)).join(" ");
const nothing = new ReadView(catalog, () => undefined);

describe("what a caller may look up", () => {
  it("is every column and every relation whose target may be read", () => {
    expect(names(rootView, "books")).toBe(
      "id title pages price note royalty createdAt updatedAt author tags reviews",
    );
    expect(names(readerView, "books")).toBe("id title pages price royalty createdAt updatedAt author tags");
    expect(names(nothing, "books")).toBe("");
  });

  it("is found by name, and what may not be known is not found", () => {
    const books = table("books");
    expect(rootView.column(books, "note")).toBe(books.columns.get("note"));
    expect(readerView.column(books, "note")).toBeUndefined();
    expect(readerView.relation(books, "reviews")).toBeUndefined();
    expect(readerView.relation(books, "author")).toEqual({
      relation: books.relations.get("author"),
      target: table("authors"),
    });
    for (const name of ["constructor", "__proto__", "authorId", "_id"]) {
      expect([rootView.column(books, name), rootView.relation(books, name)]).toEqual([undefined, undefined]);
    }
  });

  it("with * is what is not hidden, and to-one relations", () => {
    const books = table("books");
    expect(rootView.visibleColumns(books).map(({ name }) => name)).toEqual([
      "id",
      "title",
      "pages",
      "price",
      "royalty",
      "createdAt",
      "updatedAt",
    ]);
    expect(rootView.visibleToOne(table("authors")).map(({ relation }) => relation.name)).toEqual([
      "mentor",
      "profile",
    ]);
    expect(nothing.visibleColumns(books)).toEqual([]);
  });

  it("has rows only where a policy says so", () => {
    expect(rootView.rows(table("books"))).toEqual(ALWAYS);
    expect(nothing.rows(table("books"))).toEqual(NEVER);
  });

  it("asks for a table's policy once", () => {
    const asked: string[] = [];
    const view = new ReadView(catalog, ({ name }) => {
      asked.push(name);
      return undefined;
    });
    for (let time = 0; time < 3; time += 1) view.names(table("tags"));
    expect(asked.filter((name) => name === "tags")).toHaveLength(1);
  });
});

const USER_ID = "65a000000000000000000001";
const user = (isRootAdmin: boolean): Principal & { kind: "user" } => ({
  ...{ kind: "user", userId: USER_ID, sessionId: "s", roleId: null, isRootAdmin },
});
const definitions: SystemTableDefinition[] = systemTables("svc_");
const system = buildCatalog(1, [], definitions);
const systemTable = (name: string): Table => {
  const found = system.tables.get(name);
  if (found === undefined) throw new Error(name);
  return found;
};

describe("rights until rules arrive", () => {
  it("nobody reads a secret, root included", () => {
    const view = new ReadView(system, readPolicies(user(true)));
    expect(view.column(systemTable("svc_user"), "password")).toBeUndefined();
    expect(view.names(systemTable("svc_user"))).not.toContain("password");
    expect(view.column(systemTable("svc_user"), "email")?.name).toBe("email");
  });

  it("users read owners' tables without hidden columns, and no system table", () => {
    const view = new ReadView(catalog, readPolicies(user(false)));
    expect(view.column(table("books"), "note")).toBeUndefined();
    expect(view.column(table("books"), "title")?.name).toBe("title");
    expect(readPolicies(user(false))(systemTable("svc_user"))).toBeUndefined();
  });

  it("the anonymous read nothing", () => {
    expect(readPolicies({ kind: "anonymous" })(table("books"))).toBeUndefined();
  });

  it("/me shows the own record alone", () => {
    const policies = ownRecordPolicies(user(false), { users: "svc_user", roles: "svc_role" });
    expect(policies(systemTable("svc_user"))?.rows).toMatchObject({
      kind: "test",
      column: { name: "id" },
      test: { op: "eq" },
    });
    expect(policies(systemTable("svc_role"))).toBeDefined();
    expect(policies(systemTable("svc_table"))).toBeUndefined();
  });

  it.each([
    ["anonymous", { kind: "anonymous" } as const, "books", "UNAUTHORIZED"],
    ["a user on an owner's table", user(false), "books", undefined],
    ["a user on a system table", user(false), "svc_user", "FORBIDDEN"],
    ["root on a system table", user(true), "svc_user", undefined],
  ])("%s", (_who, principal, name, code) => {
    const target = name === "books" ? table(name) : systemTable(name);
    const act = (): void => requireAccess(principal, target, "update");
    if (code === undefined) expect(act).not.toThrow();
    else expect(act).toThrow(expect.objectContaining({ code }));
  });

  it("hidden columns are written by root alone", () => {
    const note = table("books").columns.get("note");
    if (note === undefined) throw new Error("note");
    expect(writeView(user(true)).mayWrite(note)).toBe(true);
    expect(writeView(user(false)).mayWrite(note)).toBe(false);
  });
});
