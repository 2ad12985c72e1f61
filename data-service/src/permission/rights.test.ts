// Rules and a caller -> what may be looked up, read and written (contract 7).
import { describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import type { SystemTableDefinition } from "../catalog/build-catalog.js";
import { buildCatalog } from "../catalog/build-catalog.js";
import { type Catalog, type Table, targetOf } from "../catalog/catalog.js";
import { systemTables } from "../catalog/system-tables.js";
import { ANONYMOUS, type Principal, type SignedIn } from "../principal.js";
import { ALWAYS, NEVER, UNKNOWN } from "../query/ast.js";
import { catalog, readerView, rootView, table } from "../query/library-fixture.js";
import { ruleProblems } from "./check-rule.js";
import { ReadView } from "./read-view.js";
import { Rights } from "./rights.js";
import type { Rule } from "./rule.js";

const USER_ID = "65a000000000000000000001";
const ROLE_ID = "65a000000000000000000002";
const user = (isRootAdmin: boolean): SignedIn => ({
  kind: "user",
  userId: USER_ID,
  by: { kind: "session", id: "s", origin: null },
  roleId: ROLE_ID,
  isRootAdmin,
});
const definitions: SystemTableDefinition[] = systemTables("svc_");
const system = buildCatalog(1, [], definitions);
/** The library's tables beside the system's. */
const all: Catalog = {
  version: 1,
  changing: new Set(),
  tables: new Map([...system.tables, ...catalog.tables]),
};
const systemTable = (name: string): Table => {
  const found = system.tables.get(name);
  if (found === undefined) throw new Error(name);
  return found;
};
const VARIABLES =
  "there are $user.id, $user.email, $user.name, $user.isActive, $user.isRootAdmin, $user.createdAt, $user.updatedAt, " +
  "$role.id, $now";
const NOW = new Date("2026-05-06T07:08:09.010Z");
const tables = { users: "svc_user", roles: "svc_role", permissions: "svc_permission", tables: "svc_table" };

const rule = (parts: Partial<Rule>): Rule => ({
  id: "r",
  roleId: null,
  table: "books",
  action: "read",
  filter: null,
  fields: null,
  presets: null,
  check: null,
  ...parts,
});
const rights = (
  principal: Principal,
  rules: Partial<Rule>[],
  record: JsonObject | null = null,
  readRulesOff: readonly string[] = [],
): Rights =>
  new Rights({
    principal,
    rules: rules.map(rule),
    readRulesOff: readRulesOff.map((table) => ({ table })),
    user: record,
    now: NOW,
    tables,
    roleId: principal.kind === "user" ? principal.roleId : null,
  });
const viewOf = (rules: Partial<Rule>[], principal: Principal = user(false)): ReadView =>
  new ReadView(all, rights(principal, rules).read(all));
const names = (view: ReadView, of: string): string => view.names(table(of)).join(" ");

describe("what a caller may look up", () => {
  it("is every column and every relation whose target may be read", () => {
    expect(names(rootView, "books")).toBe(
      "id title pages price note royalty createdAt updatedAt author tags reviews",
    );
    expect(names(readerView, "books")).toBe("id title pages price royalty createdAt updatedAt author tags");
    expect(names(viewOf([]), "books")).toBe("");
  });

  it("is found by name, and what may not be known is not found", () => {
    const books = table("books");
    expect(rootView.column(books, "note")).toBe(books.columns.get("note"));
    expect(readerView.column(books, "note")).toBeUndefined();
    expect(readerView.relation(books, "reviews")).toBeUndefined();
    const author = books.relations.get("author");
    expect(readerView.relation(books, "author")).toEqual({
      relation: author,
      target: author && targetOf(catalog, author),
    });
    for (const name of ["constructor", "__proto__", "authorId", "_id"]) {
      expect([rootView.column(books, name), rootView.relation(books, name)]).toEqual([undefined, undefined]);
    }
  });

  it("with * is what is not hidden, and to-one relations", () => {
    expect(rootView.visibleColumns(table("books")).map(({ name }) => name)).not.toContain("note");
    expect(rootView.visibleToOne(table("authors")).map(({ relation }) => relation.name)).toEqual([
      "mentor",
      "profile",
    ]);
    expect(viewOf([]).visibleColumns(table("books"))).toEqual([]);
  });

  it("has rows only where a rule says so", () => {
    expect(rootView.rows(table("books"))).toEqual(ALWAYS);
    expect(viewOf([]).rows(table("books"))).toEqual(NEVER);
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

describe("rules for reading", () => {
  it("grant all that is not hidden, unless they name fields", () => {
    expect(names(viewOf([{}]), "books")).toBe("id title pages price royalty createdAt updatedAt");
    expect(names(viewOf([{ fields: "title,note" }]), "books")).toBe("id title note");
    expect(names(viewOf([{ fields: "-price,-royalty" }]), "books")).toBe(
      "id title pages createdAt updatedAt",
    );
    expect(names(viewOf([{ fields: "*,note" }]), "books")).toContain("note");
  });

  it("reach through a relation where the other table may be read too", () => {
    expect(names(viewOf([{ fields: "title,author" }]), "books")).toBe("id title");
    expect(names(viewOf([{ fields: "title,author" }, { table: "authors" }]), "books")).toBe(
      "id title author",
    );
  });

  it("show a row that one of them matches, and use only what all of them grant", () => {
    const view = viewOf([
      { filter: { pages: { _gt: 100 } }, fields: "title,price" },
      { filter: { title: "A" }, fields: "title,pages" },
    ]);
    const books = table("books");
    expect(view.rows(books)).toMatchObject({ kind: "or", of: [{ kind: "test" }, { kind: "test" }] });
    expect(view.names(books, "use")).toEqual(["id", "title"]);
    expect(view.names(books, "show")).toEqual(["id", "title", "pages", "price"]);
    const shown = ["title", "price", "pages"].flatMap((name) => view.column(books, name, "show") ?? []);
    expect(view.masks(books, shown)).toMatchObject([
      { shows: ["price"], hides: ["price", "pages"] },
      { shows: ["pages"], hides: ["price", "pages"] },
    ]);
  });

  it("are looked up for masks only where they show something of what is asked for", () => {
    const view = viewOf([
      { filter: { pages: { _gt: 100 } }, fields: "title,price" },
      { filter: { title: "A" }, fields: "title" },
    ]);
    const books = table("books");
    const member = (name: string) => books.columns.get(name) ?? [];
    expect(view.masks(books, ["title", "price"].flatMap(member))).toMatchObject([
      { rows: { column: { name: "pages" } }, shows: ["price"], hides: ["price"] },
    ]);
    // What none of them shows is hidden all the same.
    expect(view.masks(books, ["title", "pages"].flatMap(member))).toMatchObject([
      { shows: [], hides: ["pages"] },
    ]);
  });

  it("are looked up together where they show the same", () => {
    const view = viewOf([
      { filter: { pages: 1 }, fields: "title,price" },
      { filter: { title: "A" }, fields: "title,pages" },
      { filter: { pages: 2 }, fields: "price" },
    ]);
    const books = table("books");
    const asked = ["price", "pages"].flatMap((name) => books.columns.get(name) ?? []);
    expect(view.masks(books, asked)).toMatchObject([
      { rows: { kind: "or", of: [{ kind: "test" }, { kind: "test" }] }, shows: ["price"] },
      { rows: { kind: "test" }, shows: ["pages"] },
    ]);
  });

  it("mask nothing where one of them grants a member in every row", () => {
    const view = viewOf([{ fields: "title,price" }, { filter: { title: "A" }, fields: "price" }]);
    const books = table("books");
    const shown = ["title", "price"].flatMap((name) => view.column(books, name, "show") ?? []);
    expect(view.rows(books)).toEqual(ALWAYS);
    expect(view.masks(books, shown)).toEqual([]);
  });

  it("let a member be compared exactly where it is never masked", () => {
    const books = table("books");
    const members = [...books.columns.values()];
    for (const rules of [
      [{ fields: "title,price" }, { filter: { title: "A" }, fields: "price,pages" }],
      [{ fields: "-price" }, {}],
      [{ fields: "-price", filter: { title: "A" } }, { filter: { pages: 1 } }],
      [{ filter: {}, fields: "price" }, { fields: "title" }],
    ]) {
      const view = viewOf(rules);
      for (const member of members.filter(({ name }) => view.column(books, name, "show") !== undefined))
        expect([member.name, view.column(books, member.name) !== undefined]).toEqual([
          ...[member.name, view.masks(books, [member]).length === 0],
        ]);
    }
    const staff = viewOf([{ fields: "-price" }, {}]);
    expect(staff.names(books, "use")).toEqual(staff.names(books, "show"));
  });

  it("may speak of columns that their subjects can't read", () => {
    const view = viewOf([{ filter: { note: "x" }, fields: "title" }]);
    expect(view.rows(table("books"))).toMatchObject({ kind: "test", column: { name: "note" } });
  });

  it("that no longer fit the table grant nothing", () => {
    expect(names(viewOf([{ filter: { gone: 1 } }]), "books")).toBe("");
    expect(names(viewOf([{ fields: "title,gone" }]), "books")).toBe("");
  });

  it("never show secrets, not even to root", () => {
    const view = new ReadView(system, rights(user(true), []).read(system));
    expect(view.column(systemTable("svc_user"), "password")).toBeUndefined();
    expect(view.names(systemTable("svc_user"))).not.toContain("password");
    const granted = viewOf([{ table: "svc_user", fields: "email,password" }]);
    expect(granted.names(systemTable("svc_user"))).toEqual([]);
  });
});

describe("variables in rules", () => {
  const rowsOf = (filter: JsonObject, principal: Principal, record: JsonObject | null = null) =>
    new ReadView(all, rights(principal, [{ filter }], record).read(all)).rows(table("books"));

  it("stand for the caller's id, columns, role and the moment", () => {
    expect(rowsOf({ title: "$user.id" }, user(false))).toMatchObject({ test: { op: "eq", value: USER_ID } });
    expect(rowsOf({ title: "$user.name" }, user(false), { name: "Ann" })).toMatchObject({
      test: { value: "Ann" },
    });
    expect(rowsOf({ title: { _in: ["$role.id", "x"] } }, user(false))).toMatchObject({
      test: { op: "in", values: [ROLE_ID, "x"] },
    });
    expect(rowsOf({ createdAt: { _lt: "$now" } }, user(false))).toMatchObject({
      test: { op: "lt", value: NOW },
    });
  });

  it("without a value match nothing, and neither does their negation", () => {
    expect(rowsOf({ title: "$user.id" }, ANONYMOUS)).toEqual(UNKNOWN);
    expect(rowsOf({ title: { _neq: "$user.name" } }, user(false))).toEqual(UNKNOWN);
    expect(rowsOf({ title: { _not_in: ["$user.name"] } }, user(false))).toEqual(UNKNOWN);
  });

  it("without a value leave a list to its other members", () => {
    const among = { kind: "test", test: { op: "in", values: ["x"] } };
    expect(rowsOf({ title: { _in: ["$user.name", "x"] } }, user(false))).toMatchObject({
      kind: "or",
      of: [among, UNKNOWN],
    });
    expect(rowsOf({ title: { _nin: ["x", "$user.name"] } }, user(false))).toMatchObject({
      kind: "and",
      of: [{ kind: "not", of: among }, UNKNOWN],
    });
    expect(rowsOf({ title: { _between: ["$user.name", "x"] } }, user(false))).toMatchObject({
      kind: "and",
      of: [{ test: { op: "lte", value: "x" } }, UNKNOWN],
    });
    expect(rowsOf({ title: { _between: ["x", "$user.name"] } }, user(false))).toMatchObject({
      kind: "and",
      of: [{ test: { op: "gte", value: "x" } }, UNKNOWN],
    });
  });

  const reviews = (where: JsonObject) => ({ reviews: where });
  it.each<[why: string, filter: JsonObject]>([
    ["by id", { tags: "$user.name" }],
    ["beside other conditions", reviews({ text: "$user.name", stars: { _gt: 3 } })],
    ["negated inside", reviews({ _not: { text: "$user.name" } })],
    ["one of several that can't be true", reviews({ _or: [{ text: "$user.name" }, { stars: { _in: [] } }] })],
    ["through a to-one relation", reviews({ book: { title: "$user.name" } })],
    ["through two to-many relations", { tags: { books: { title: "$user.name" } } }],
    ["negated between two to-many relations", { tags: { _not: { books: { title: "$user.name" } } } }],
    ["through to-one and to-many relations", reviews({ book: { tags: { label: "$user.name" } } })],
  ])("without a value leave a to-many relation unknown: %s", (_why, filter) => {
    expect(rowsOf(filter, user(false))).toEqual(UNKNOWN);
    expect(rowsOf({ _not: filter }, user(false))).toEqual(UNKNOWN);
    expect(rowsOf(filter, user(false), { name: USER_ID })).toMatchObject({ kind: "related" });
  });

  it.each<[why: string, filter: JsonObject]>([
    ["by id", { author: "$user.id" }],
    ["by another field", { author: { name: "$user.name" } }],
    ["through two of them", { author: { mentor: { name: "$user.name" } } }],
    ["more than once", { author: { _or: [{ id: "$user.id" }, { name: "$user.name" }] } }],
  ])("without a value leave a to-one relation unknown, for which no record is asked: %s", (_why, filter) => {
    expect(rowsOf(filter, ANONYMOUS)).toEqual(UNKNOWN);
    expect(rowsOf({ _not: filter }, ANONYMOUS)).toEqual(UNKNOWN);
  });

  it("without a value leave a to-one relation to what else decides it", () => {
    const where = { kind: "and", of: [UNKNOWN, { kind: "test" }] };
    expect(rowsOf({ author: { name: "$user.name", born: 5 } }, ANONYMOUS)).toMatchObject({
      kind: "related",
      where,
    });
    expect(rowsOf({ author: { _or: [{ name: "$user.name" }, { born: 5 }] } }, ANONYMOUS)).toMatchObject({
      kind: "related",
    });
  });

  it("without a value leave it true by what else a record satisfies, and never false", () => {
    const filter = reviews({ _or: [{ text: "$user.name" }, { stars: 5 }] });
    expect(rowsOf(filter, user(false))).toMatchObject({ kind: "or", of: [{ kind: "related" }, UNKNOWN] });
    const absent = reviews({ _or: [{ text: "$user.name" }, { book: {} }] });
    expect(rowsOf(absent, user(false))).toMatchObject({ kind: "or", of: [{ kind: "related" }, UNKNOWN] });
    const nested = { tags: { _not: { books: filter } } };
    expect(rowsOf(nested, user(false))).toEqual(UNKNOWN);
  });

  it.each<[why: string, filter: JsonObject, decided: JsonObject]>([
    ["false", reviews({ text: "$user.name", stars: { _in: [] } }), { kind: "never" }],
    ["true", reviews({ _or: [{ text: "$user.name" }, {}] }), { kind: "related", where: { kind: "always" } }],
  ])("without a value change nothing where all else has decided: %s", (_why, filter, decided) => {
    expect(rowsOf(filter, user(false))).toMatchObject(decided);
  });

  it.each(["_eq", "_neq", "_contains"])("with a value that %s can't compare are as without one", (op) => {
    const long = { name: "n".repeat(1_025) };
    const filter = { _or: [{ title: { [op]: "$user.name" } }, { pages: 1 }] };
    expect(rowsOf(filter, user(false), long)).toMatchObject({
      kind: "or",
      of: [UNKNOWN, { kind: "test", column: { name: "pages" } }],
    });
  });

  it("are not every text that begins with $", () => {
    for (const text of ["$", "$5", "$$users", "$ users"])
      expect(rowsOf({ title: text }, user(false))).toMatchObject({ test: { value: text } });
  });
});

describe("rights", () => {
  it.each([
    ["anonymous without a rule", ANONYMOUS, [], "UNAUTHORIZED"],
    ["anonymous with a rule for everyone", ANONYMOUS, [{ action: "update" }], undefined],
    ["a user without a rule", user(false), [], "FORBIDDEN"],
    ["a user with a rule for another action", user(false), [{ action: "read" }], "FORBIDDEN"],
    ["a user with a rule", user(false), [{ action: "update" }], undefined],
    ["root without a rule", user(true), [], undefined],
  ] as const)("%s", (_who, principal, rules, code) => {
    const act = (): void => rights(principal, [...rules]).require(all, table("books"), "update");
    if (code === undefined) expect(act).not.toThrow();
    else expect(act).toThrow(expect.objectContaining({ code }));
  });

  it.each(["svc_role", "svc_permission", "svc_table"])("no rule lets anybody but root write %s", (name) => {
    const rules = [{ table: name, action: "update" as const }];
    expect(() => rights(user(false), rules).require(all, systemTable(name), "update")).toThrow(
      expect.objectContaining({ code: "FORBIDDEN" }),
    );
  });

  it("no rule makes a root admin or reaches one", () => {
    const users = systemTable("svc_user");
    const rules = [
      { table: "svc_user", action: "update" as const, presets: { isRootAdmin: true, name: "x" } },
    ];
    const isRootAdmin = users.columns.get("isRootAdmin");
    if (isRootAdmin === undefined) throw new Error("isRootAdmin");
    const grants = rights(user(false), rules).write(all, users, "update");
    expect(grants).not.toHaveLength(0);
    for (const grant of grants) {
      expect([grant.members(isRootAdmin), grant.presets]).toEqual([false, { name: "x" }]);
      expect(JSON.stringify(grant.rows)).toContain('"name":"isRootAdmin"');
    }
  });

  it("nobody changes their own role or state", () => {
    const users = systemTable("svc_user");
    const role = users.relations.get("role");
    if (role === undefined) throw new Error("role");
    const grants = rights(user(false), [{ table: "svc_user", action: "update" }]).write(all, users, "update");
    const withRole = grants.filter(({ members }) => members(role));
    expect(withRole).toHaveLength(1);
    expect(JSON.stringify(withRole[0]?.rows)).toContain(USER_ID);
  });

  it("presets of role, state, address and password are left out of the change of one's own record alone", () => {
    const users = systemTable("svc_user");
    const presets = { isActive: false, email: "x@example.com", name: "x" };
    const rules = [{ table: "svc_user", action: "update" as const, presets }];
    const [others, oneself, ...more] = rights(user(false), rules).write(all, users, "update");
    const own = expect.objectContaining({ kind: "test", column: users.idColumn });
    expect([others?.presets, oneself?.presets, more]).toEqual([presets, { name: "x" }, []]);
    expect(oneself?.rows).toMatchObject({ kind: "and", of: expect.arrayContaining([own]) });
  });

  describe("to change and delete", () => {
    const GONE: Partial<Rule> = { filter: { gone: 1 } };
    const books = table("books");
    const written = (rules: Partial<Rule>[], readRulesOff: string[] = []) =>
      (["update", "delete"] as const).map((action) =>
        rights(user(false), [{ action }, ...rules], null, readRulesOff)
          .write(all, books, action)
          .map(({ rows }) => rows),
      );

    it("reach every record, unseen, where no rule is for reading", () => {
      expect(written([], ["authors"])).toEqual([[ALWAYS], [ALWAYS]]);
    });

    it("reach none where the rule for reading fits no more", () => {
      expect(written([GONE])).toEqual([[], []]);
    });

    it("reach none where the rule for reading is switched off", () => {
      expect(written([], ["books"])).toEqual([[], []]);
    });

    it("reach what another rule for reading shows, whatever became of the first", () => {
      const rows = expect.objectContaining({
        kind: "test",
        column: expect.objectContaining({ name: "pages" }),
      });
      expect(written([GONE, { filter: { pages: 1 } }], ["books"])).toEqual([[rows], [rows]]);
    });

    it("leave new records to the rules for creating", () => {
      expect(rights(user(false), [{ action: "create" }, GONE]).write(all, books, "create")).toHaveLength(1);
    });
  });

  it("/me shows the own record alone", () => {
    const own = rights(user(false), []).own(system, user(false));
    expect(own.rows(systemTable("svc_user"))).toMatchObject({ kind: "test", column: { name: "id" } });
    const may = (name: string): boolean[] => [own, own.beyond].map((view) => view.mayRead(systemTable(name)));
    expect(may("svc_user")).toEqual([true, false]);
    expect(may("svc_role")).toEqual([true, false]);
    expect(may("svc_table")).toEqual([false, false]);
  });
});

const BOOKS = table("books");

describe("a caller who is looked at again", () => {
  const plain: SignedIn = { ...user(false), roleId: null };
  const ofTeam: Partial<Rule> = { filter: { title: "$user.team" } };

  it.each<[when: string, before: Rights, after: Rights]>([
    ["nothing was changed", rights(plain, [{}]), rights(plain, [{}])],
    ["a rule for writing came", rights(plain, [{}]), rights(plain, [{}, { action: "update" }])],
    [
      "a column of theirs was changed that only a rule for writing uses",
      rights(plain, [{}, { ...ofTeam, action: "update" }], { team: "red" }),
      rights(plain, [{}, { ...ofTeam, action: "update" }], { team: "blue" }),
    ],
    [
      "a rule for reading another table came",
      rights(plain, [{}]),
      rights(plain, [{}, { ...ofTeam, table: "authors" }], { team: "red" }),
    ],
  ])("reads as before when %s", (_when, before, after) => {
    expect(after.readsAs(before, ["read"], [BOOKS])).toBe(true);
  });

  it.each<[when: string, before: Rights, after: Rights]>([
    ["a rule for reading was changed", rights(plain, [{}]), rights(plain, [{ fields: "title" }])],
    ["they have another role with the same rules", rights(plain, [{}]), rights(user(false), [{}])],
    [
      "they are a root admin no more, even if no rule speaks of them",
      rights({ ...plain, isRootAdmin: true }, []),
      rights(plain, []),
    ],
    [
      "a column of theirs was changed that a rule for reading uses",
      rights(plain, [ofTeam], { team: "red" }),
      rights(plain, [ofTeam], { team: "blue" }),
    ],
  ])("reads otherwise than before when %s", (_when, before, after) => {
    expect(after.readsAs(before, ["read"], [BOOKS])).toBe(false);
  });

  it.each<[when: string, before: Rights, after: Rights]>([
    ["a rule for deleting has gone", rights(plain, [{}, { action: "delete" }]), rights(plain, [{}])],
    [
      "a column of theirs was changed that a rule for deleting uses",
      rights(plain, [{}, { ...ofTeam, action: "delete" }], { team: "red" }),
      rights(plain, [{}, { ...ofTeam, action: "delete" }], { team: "blue" }),
    ],
  ])("reads deleted records otherwise when %s, and others as before", (_when, before, after) => {
    expect(after.readsAs(before, ["read", "delete"], [BOOKS])).toBe(false);
    expect(after.readsAs(before, ["read"], [BOOKS])).toBe(true);
  });
});

describe("what a caller is to rules for reading", () => {
  const plain = user(false);
  const other = { ...plain, userId: "65a000000000000000000003" };
  const own: Partial<Rule> = { filter: { title: "$user.id" } };
  const ofTeam: Partial<Rule> = { filter: { title: "$user.team" } };

  it.each<[who: string, one: Rights, another: Rights]>([
    ["two users of a role whose rules ask nothing of them", rights(plain, [{}]), rights(other, [{}])],
    [
      "two users who have the same of what is asked for",
      rights(plain, [ofTeam], { team: "red", name: "a" }),
      rights(other, [ofTeam], { team: "red", name: "b" }),
    ],
    [
      "two users of whom a rule for another table asks what is not the same",
      rights(plain, [{}, { ...ofTeam, table: "authors" }], { team: "red" }),
      rights(other, [{}, { ...ofTeam, table: "authors" }], { team: "blue" }),
    ],
    ["a user whose role got another rule", rights(plain, [{}]), rights(plain, [{ fields: "title" }])],
  ])("is the same for %s", (_who, one, another) => {
    expect(one.reader([BOOKS])).toBe(another.reader([BOOKS]));
  });

  it.each<[who: string, one: Rights, another: Rights]>([
    ["two users, of whom their ids are asked", rights(plain, [own]), rights(other, [own])],
    [
      "a user of whom another value is asked than before",
      rights(plain, [ofTeam], { team: "red" }),
      rights(plain, [ofTeam], { team: "blue" }),
    ],
    ["a user and a visitor, where ids are asked", rights(plain, [own]), rights(ANONYMOUS, [own])],
    ["a user who got another role", rights(plain, [{}]), rights({ ...plain, roleId: null }, [{}])],
    ["a root admin and another", rights(user(true), []), rights(plain, [])],
  ])("differs for %s", (_who, one, another) => {
    expect(one.reader([BOOKS])).not.toBe(another.reader([BOOKS]));
  });
});

describe("a rule that is saved", () => {
  const problems = (parts: JsonObject): string[] =>
    ruleProblems({ table: "books", action: "read", ...parts }, { catalog: all, protected: tables });

  const leadsBack = (path: string, found: string): string =>
    `check.${path}: leads back to records of "books" by their own links, where the one that is written is ${found}`;

  it.each<[JsonObject, string[]]>([
    [{ filter: { title: "x" }, fields: "title,-price" }, []],
    [{ filter: { author: { name: { _eq: "$user.name" } } } }, []],
    [{ table: "boks" }, ['table: there is no table "boks"; did you mean "books"?']],
    [{ filter: { titel: 1 } }, ['filter.titel: unknown field "titel" on "books"; did you mean "title"?']],
    [{ fields: "titel" }, ['fields: unknown field "titel" on "books"; did you mean "title"?']],
    [
      { fields: "author.name" },
      ['fields: "author." reaches into another table; rules of that table say what is seen there'],
    ],
    [
      { fields: "title,_count(reviews)" },
      ['fields: "_count(reviews)" is no member; whoever may read "reviews" may count it'],
    ],
    [
      { filter: { title: "$user.nme" } },
      [`filter.title: unknown variable "$user.nme"; ${VARIABLES}; did you mean "$user.name"?`],
    ],
    [
      { filter: { pages: "$user.name" } },
      ["filter.pages: must be a whole number; $user.name has the type string"],
    ],
    [
      { table: "svc_user", filter: { role: { _in: ["$role.id", "$now"] } } },
      ["filter.role._in[1]: must be 24 hexadecimal digits; $now has the type datetime"],
    ],
    [
      { filter: { title: { _is_null: "$user.name" } } },
      ["filter.title._is_null: must be true or false; $user.name has the type string"],
    ],
    [{ filter: { title: { _is_null: "$user.isActive" } } }, []],
    [
      { filter: { title: { _contains: "$user.isActive" } } },
      ["filter.title._contains: must be text; $user.isActive has the type boolean"],
    ],
    [{ filter: { title: { _in: "$user.name" } } }, ["filter.title._in: must be a list, not text"]],
    [
      { action: "create", filter: { title: "x" } },
      ["filter: there is no row yet when one is created; use check"],
    ],
    [{ presets: { title: "x" } }, ["presets: does not apply to read; it is for create and update"]],
    [{ action: "delete", fields: "title" }, ["fields: a record is deleted as a whole"]],
    [
      { action: "update", presets: { titel: "x", pages: "many" } },
      [
        'presets.titel: "books" has no such column or to-one relation; did you mean "title"?',
        "presets.pages: must be a whole number",
      ],
    ],
    [
      { action: "create", presets: { id: "65a00000000000000000000f", createdAt: "$now", createdat: "$now" } },
      [
        "presets.id: is made by the service",
        "presets.createdAt: is made by the service",
        'presets.createdat: "books" has no such column or to-one relation',
      ],
    ],
    [
      { action: "create", presets: { tags: ["$user.id"] } },
      [
        "presets.tags: a list of links can't be set; let the body name it, and say in check what must be in it",
      ],
    ],
    [
      { table: "samples", action: "create", presets: { the_json: { by: ["$user.id"] } } },
      ['presets.the_json: "$user.id" must be all of the value; inside JSON it would be plain text'],
    ],
    [{ table: "samples", action: "create", presets: { the_json: { by: "$" } } }, []],
    [
      { action: "create", presets: { pages: "$user.name" } },
      ["presets.pages: must be a whole number; $user.name has the type string"],
    ],
    [{ action: "create", presets: { title: "$user.id", author: 1 }, check: { pages: { _gt: 1 } } }, []],
    [
      { action: "update", check: { reviews: { _is_null: true } } },
      ["check.reviews: lies in the records of another table, which are written later; check there"],
    ],
    [
      { action: "create", check: { _not: { author: { books: { author: { books: { _is_null: true } } } } } } },
      [leadsBack("author.books", "not found yet"), leadsBack("author.books.author.books", "not found yet")],
    ],
    [
      { action: "create", check: { author: { _not: { books: { pages: 1 } } } } },
      [leadsBack("author.books", "not found yet")],
    ],
    [{ action: "create", check: { author: { books: { pages: 1 } } } }, []],
    [
      { action: "update", check: { author: { books: { pages: 1 } } } },
      [leadsBack("author.books", "found as it was before")],
    ],
    [
      { action: "update", check: { author: { profile: { author: { name: "x" } }, pupils: { born: 1 } } } },
      [],
    ],
    [
      { table: "authors", action: "update", check: { mentor: { pupils: { born: 1 } } } },
      [
        'check.mentor.pupils: leads back to records of "authors" by their own links, where the one that is written is found as it was before',
      ],
    ],
    [{ action: "update", check: { author: { books: { pages: 1 } } }, isEnabled: false }, []],
    [
      { table: "svc_role", action: "update" },
      ['table: "svc_role" is for root admins; no rule can let anybody else update it'],
    ],
    [{ table: "svc_audit" }, ['table: "svc_audit" is for root admins; no rule can let anybody else read it']],
    [
      { table: "svc_user", action: "create", presets: { isRootAdmin: true } },
      ["presets.isRootAdmin: no rule can make a root admin"],
    ],
  ])("%j", (parts, expected) => {
    expect(problems(parts)).toEqual(expected);
  });

  it.each<[text: string, meant: string | undefined]>([
    ["$usr.name", "$user.name"],
    ["$user.Name", "$user.name"],
    ["$User.id", "$user.id"],
    ["$USER.name", "$user.name"],
    ["$users.name", "$user.name"],
    ["$Now", "$now"],
    ["$role.ID", "$role.id"],
    ["$currentUser.name", undefined],
    ["$current-user.id", undefined],
    ["$now.date", undefined],
    ["$user.password", undefined],
    ["$user", undefined],
    ["$foo", undefined],
    ["$CURRENT_USER", undefined],
    ["$größe", undefined],
  ])(
    "is refused where %s stands for a text: nobody writes such a text, and being unequal to it would open all",
    (text, meant) => {
      const unknown = `unknown variable "${text}"; ${VARIABLES}`;
      const problem = meant === undefined ? unknown : `${unknown}; did you mean "${meant}"?`;
      const condition = { title: { _neq: text } };
      for (const [parts, place] of [
        [{ filter: condition }, "filter.title._neq"],
        [{ action: "create", check: condition }, "check.title._neq"],
        [{ action: "update", presets: { title: text } }, "presets.title"],
        [{ filter: { title: { _not_in: ["x", text] } } }, "filter.title._not_in[1]"],
        [{ filter: { author: { name: { _starts_with: text } } } }, "filter.author.name._starts_with"],
        [{ table: "samples", action: "create", presets: { the_json: { by: [text] } } }, "presets.the_json"],
      ] as const)
        expect(problems(parts)).toEqual([`${place}: ${problem}`]);
    },
  );

  it.each(["$", "$5", "$5.00", "$$foo", "$ now", "US$", "a $user.name", "$USD is money"])(
    "may compare with the text %j",
    (text) => {
      expect(problems({ filter: { title: { _neq: text } } })).toEqual([]);
      expect(problems({ action: "create", presets: { title: text } })).toEqual([]);
    },
  );

  it("grants nothing if it was stored when such a text was let pass", () => {
    const view = viewOf([{ filter: { title: { _neq: "$usr.name" } } }, { table: "tags" }]);
    expect([names(view, "books"), names(view, "tags")]).toEqual(["", expect.stringContaining("label")]);
  });
});

describe("rules that speak of the names of another moment than the catalog", () => {
  const after = (id: string): Catalog => ({ ...all, change: { id, isFollowed: true } });
  const books = all.tables.get("books");

  it("grant nothing, and don't refuse for good either", () => {
    if (books === undefined) throw new Error("no books");
    const mine = rights(user(false), [{}]);
    expect(mine.view(all).mayRead(books)).toBe(true);
    expect(() => mine.require(after("renamed"), books, "read")).toThrow(
      expect.objectContaining({ code: "SERVICE_UNAVAILABLE" }),
    );
  });

  it("don't concern root admins", () => {
    if (books === undefined) throw new Error("no books");
    expect(() => rights(user(true), []).require(after("renamed"), books, "read")).not.toThrow();
  });
});
