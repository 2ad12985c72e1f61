// Names of tables and members: which there may be, and what a wrong one was meant to be.
import { describe, expect, it } from "@jest/globals";
import { memberNameProblem, suggestion, tableNameProblem } from "./names.js";

describe("a table's name", () => {
  it.each(["a", "posts", "p2_x", `a${"b".repeat(62)}`])("may be %s", (name) => {
    expect(tableNameProblem(name, "svc_")).toBeUndefined();
  });

  it.each(["", "A", "1a", "_a", "a-b", "a.b", "a b", "é", `a${"b".repeat(63)}`, "a\n", "../a"])(
    "may not be %j",
    (name) => {
      expect(tableNameProblem(name, "svc_")).toBe(
        "must begin with a lower-case letter and go on with lower-case letters, digits or _, 63 characters at most",
      );
    },
  );

  it.each([
    "api",
    "assets",
    "auth",
    "docs",
    "login",
    "logout",
    "me",
    "metadata",
    "metrics",
    "healthz",
    "internal",
    "openapi",
    "readyz",
    "types",
    "constructor",
  ])("may not be %s, which is taken", (name) =>
    expect(tableNameProblem(name, "svc_")).toBe(`"${name}" is reserved; choose another name`),
  );

  it("may not look like a system table's", () => {
    expect(tableNameProblem("svc_post", "svc_")).toBe(
      'must not begin with "svc_", which marks system tables',
    );
    expect(tableNameProblem("svc_post", "sys_")).toBeUndefined();
  });
});

describe("a member's name", () => {
  it.each(["a", "createdOn", "A1_b", `a${"b".repeat(62)}`])("may be %s", (name) => {
    expect(memberNameProblem(name)).toBeUndefined();
  });

  it.each(["", "_a", "1a", "a.b", "$a", "a b", "é", `a${"b".repeat(63)}`, "__proto__"])(
    "may not be %j",
    (name) => {
      expect(memberNameProblem(name)).toBe(
        "must begin with a letter and go on with letters, digits or _, 63 characters at most",
      );
    },
  );

  it.each(["id", "createdAt", "updatedAt"])("may not be %s, which every table has", (name) => {
    expect(memberNameProblem(name)).toBe(`"${name}" exists in every table by itself`);
  });

  it.each(["constructor", "toString", "hasOwnProperty"])("may not be %s", (name) => {
    expect(memberNameProblem(name)).toBe(`"${name}" is reserved; choose another name`);
  });
});

describe("did you mean", () => {
  const KNOWN = ["id", "name", "title", "publishedAt", "author"];
  it.each([
    ["nme", "name"],
    ["Name", "name"],
    ["nmae", "name"],
    ["titel", "title"],
    ["titles", "title"],
    ["publishedAtt", "publishedAt"],
    ["publishdAt", "publishedAt"],
    ["publishAt", "publishedAt"],
    ["authorId", "author"],
    ["_id", "id"],
  ])("%s: %s", (unknown, meant) => {
    expect(suggestion(unknown, KNOWN)).toBe(`; did you mean "${meant}"?`);
  });

  it.each(["xyz", "", "nnnn", "emanresu", "x".repeat(10_000)])("%.20j: nothing", (unknown) => {
    expect(suggestion(unknown, KNOWN)).toBe("");
  });

  it("says nothing when nothing is known", () => expect(suggestion("a", [])).toBe(""));
});
