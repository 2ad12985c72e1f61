// An answer that is short ends like a long one: only if its caller may still read what it began with.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Catalog } from "../../catalog/catalog.js";
import { systemTables } from "../../catalog/system-tables.js";
import { LastingCaller } from "../../lasting-caller.js";
import { Rights } from "../../permission/rights.js";
import type { Rule } from "../../permission/rule.js";
import { ANONYMOUS } from "../../principal.js";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { catalog, catalogOf, table } from "../../query/library-fixture.js";
import type { Parameters } from "../../query/parameters.js";
import type { Shown } from "./still-open.js";
import { whileAllowed } from "./while-allowed.js";

const RULE: Rule = {
  id: "r",
  roleId: null,
  table: "books",
  action: "read",
  filter: null,
  fields: null,
  presets: null,
  check: null,
};

const rightsBy = (...rules: readonly Partial<Rule>[]): Rights =>
  new Rights({
    principal: ANONYMOUS,
    roleId: null,
    rules: rules.map((parts) => ({ ...RULE, ...parts })),
    user: null,
    now: new Date(),
    tables: { users: "svc_user", roles: "svc_role", permissions: "svc_permission", tables: "svc_table" },
  });

/** The library's tables beside the system's, as rules need them. */
const all: Catalog = {
  ...catalog,
  tables: new Map([...buildCatalog(1, [], systemTables("svc_")).tables, ...catalog.tables]),
};

const LIMITS = { maxDepth: 7, maxLimit: undefined };

/** A list, of books where nothing else is said, as these rights show it. */
function shownBy(rights: Rights, asked: Partial<Parameters> = {}, of = "books"): Shown {
  const view = rights.view(all);
  return authorizeRead(bindQuery({ filterFromText: false, ...asked }, table(of), view, LIMITS), view);
}

/** Two parts of an answer that shows deleted records as well, read by someone whose rights, or tables, are others at its end. */
async function read(before: Rights, after: Rights, then = all, shown = shownBy(before)): Promise<number[]> {
  const source = async function* () {
    yield* [1, 2];
  };
  const deps = {
    rights: async () => after,
    catalogs: { get: async () => then, refresh: async () => then },
  };
  const began = { rights: before, actions: ["read", "delete"] as const, shown };
  const caller = new LastingCaller(ANONYMOUS, async () => ANONYMOUS);
  const answer = whileAllowed(deps, caller, began, source());
  const parts: number[] = [];
  for await (const part of answer) parts.push(part);
  return parts;
}

const REFUSAL = {
  code: "SERVICE_UNAVAILABLE",
  message: expect.stringContaining("ask again"),
  headers: { "Retry-After": "1" },
};

describe("an answer that ends within a moment", () => {
  it("is whole when its caller reads as before", async () => {
    expect(await read(rightsBy({}), rightsBy({}, { action: "update" }))).toEqual([1, 2]);
  });

  it.each<[when: string, after: Rights, then: Catalog]>([
    ["less may be read", rightsBy({ fields: "title" }, { action: "delete" }), all],
    ["the deleted records in it may be deleted no more", rightsBy({}), all],
    ["its table has gone", rightsBy({}, { action: "delete" }), catalogOf([])],
  ])("fails at its end, to be asked again, when %s by then", async (_when, after, then) => {
    await expect(read(rightsBy({}, { action: "delete" }), after, then)).rejects.toMatchObject(REFUSAL);
  });
});

describe("an answer during which a rule is removed", () => {
  const BY_ANN = { author: { name: "Ann" } };
  const OF_ANN: Partial<Rule> = { table: "books", filter: BY_ANN };

  interface Case {
    /** The table of the rule. */
    readonly gone?: string;
    readonly asked?: Partial<Parameters>;
    readonly of?: string;
    /** In place of one that shows all of its table. */
    readonly ruled?: Partial<Rule>;
  }

  function readWithout({ gone = "authors", asked = { fields: "id" }, of, ruled }: Case): Promise<number[]> {
    const others = ["authors", "books", "reviews"].filter((each) => each !== ruled?.table);
    const rules = [...others.map((each) => ({ table: each })), ...(ruled === undefined ? [] : [ruled])];
    const before = rightsBy(...rules);
    const after = rightsBy(...rules.filter((rule) => rule.table !== gone));
    return read(before, after, all, shownBy(before, asked, of));
  }

  it.each<[what: string, asked: Case]>([
    [
      "shows none of its records",
      { asked: { fields: "title,reviews", sort: "title", filter: { reviews: {} } } },
    ],
    ["is of another table", { gone: "authors", asked: {}, of: "reviews" }],
  ])("is whole when it %s", async (_what, asked) => {
    expect(await readWithout(asked)).toEqual([1, 2]);
  });

  it.each<[what: string, asked: Case]>([
    ["shows its records", { asked: { fields: "author" } }],
    ["shows them below others", { asked: { fields: "book.author.name" }, of: "reviews" }],
    ["asks for some of them", { asked: { fields: "id", filter: { _not: BY_ANN } } }],
    ["asks for one of them by the records' own links", { asked: { fields: "id", filter: { author: 1 } } }],
    ["asks whether there is one", { asked: { fields: "id", filter: { author: null } } }],
    ["asks for some below others", { asked: { fields: "id", filter: { book: BY_ANN } }, of: "reviews" }],
    ["asks in `deep`", { asked: { deep: { book: { fields: "id", filter: { author: 1 } } } }, of: "reviews" }],
    ["is sorted by them", { asked: { fields: "id", sort: "author.name" } }],
    ["is sorted by their number", { gone: "reviews", asked: { fields: "id", sort: "_count(reviews)" } }],
    [
      "is sorted by the most of them",
      { gone: "reviews", asked: { fields: "id", sort: "_max(reviews.stars)" } },
    ],
    ["counts them", { gone: "reviews", asked: { fields: "_count(reviews)" } }],
    [
      "aggregates them",
      { gone: "reviews", asked: { fields: "id", aggregate: { reviews: { count: true } } } },
    ],
  ])("fails when it %s", async (_what, asked) => {
    await expect(readWithout(asked)).rejects.toMatchObject(REFUSAL);
  });

  it.each<[what: string, asked: Case]>([
    ["its records", { ruled: OF_ANN }],
    ["its records by their own links", { ruled: { table: "books", filter: { author: 1 } } }],
    ["what it shows of them", { ruled: { ...OF_ANN, fields: "title" }, asked: { fields: "title" } }],
    ["what it shows", { ruled: OF_ANN, asked: { fields: "book" }, of: "reviews" }],
    ["what its filter asks for", { ruled: OF_ANN, asked: { filter: { book: { pages: 1 } } }, of: "reviews" }],
    ["what it is sorted by", { ruled: OF_ANN, asked: { fields: "id", sort: "book.title" }, of: "reviews" }],
    [
      "what it counts",
      { ruled: { table: "reviews", filter: { book: BY_ANN } }, asked: { fields: "_count(reviews)" } },
    ],
    ["its records by others", { ruled: { table: "reviews", filter: { book: BY_ANN } }, of: "reviews" }],
  ])(
    "fails when the filter of another rule, which goes through its table, decides %s",
    async (_what, asked) => {
      await expect(readWithout(asked)).rejects.toMatchObject(REFUSAL);
    },
  );

  it("fails when its table is one beside", async () => {
    const [began, now] = [rightsBy({}, { table: "authors" }), rightsBy({})];
    const shown = { ...shownBy(began, { fields: "title" }), beside: [table("authors")] };
    await expect(read(began, now, all, shown)).rejects.toMatchObject(REFUSAL);
  });
});
