// What is remembered of the lists that were asked for, and when they are explained.
import { describe, expect, it } from "@jest/globals";
import { buildCatalog } from "../../catalog/build-catalog.js";
import type { Table } from "../../catalog/catalog.js";
import type { TableDefinition } from "../../catalog/definition.js";
import { bareColumn, bareRelation, bareTable } from "../../catalog/definition-fixture.js";
import { NOTHING_READ } from "../../mongo/execution-report.js";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { catalogOf, rootView, table } from "../../query/library-fixture.js";
import { lowerList, NO_RANKING } from "../../query/lower/read.js";
import type { Parameters } from "../../query/parameters.js";
import { type AnsweredList, SeenQueries } from "./seen-queries.js";

/** A list of books that answered three of them. */
function answered(
  given: Omit<Parameters, "filterFromText">,
  milliseconds = 1,
  books = table("books"),
): AnsweredList {
  const limits = { maxDepth: 7, maxLimit: undefined };
  const query = authorizeRead(
    bindQuery({ filterFromText: false, ...given }, books, rootView, limits),
    rootView,
  );
  const plan = { query, rules: query.rules, ranking: NO_RANKING, questions: [] };
  return {
    plan,
    pipeline: () => lowerList(query),
    returned: 3,
    joined: new Map(),
    related: [],
    milliseconds,
  };
}

/** A database that explains when it is told to, at a time that is set. */
function setUp() {
  const state = { explained: 0, atOnce: 0, most: 0, fails: false, now: 0 };
  const waiting: (() => void)[] = [];
  const store = {
    async explain() {
      state.explained += 1;
      state.atOnce += 1;
      state.most = Math.max(state.most, state.atOnce);
      await new Promise<void>((resolve) => waiting.push(resolve));
      state.atOnce -= 1;
      if (state.fails) throw new Error("too slow");
      return { ...NOTHING_READ, documentsExamined: 900, keysExamined: 2_000 };
    },
  };
  const seen = new SeenQueries({ store, clock: { now: () => new Date(state.now) } });
  /** Lets everything that waits be explained. */
  const finish = async () => {
    for (let quiet = 0; quiet < 5; quiet += 1) {
      if (waiting.length > 0) quiet = 0;
      for (const go of waiting.splice(0)) go();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { state, seen, finish };
}

describe("what lists have read", () => {
  it("is counted by shape, and explained for the first of its kind", async () => {
    const { state, seen, finish } = setUp();
    for (const pages of [1, 2, 3]) seen.note(answered({ filter: { pages } }));
    await finish();
    expect(state.explained).toBe(1);
    expect(await seen.of(table("books"))).toEqual([
      {
        shape: { table: "books", filter: [{ field: "pages", test: "equality" }], sort: [] },
        seen: 3,
        timedOut: 0,
        facts: { examined: 900, returned: 3 },
      },
    ]);
    expect(await seen.of(table("authors"))).toEqual([]);
  });

  it("counts records that a page passes over as needed", async () => {
    const { seen, finish } = setUp();
    seen.note(answered({ limit: 3, page: 5 }));
    await finish();
    expect(await seen.of(table("books"))).toMatchObject([{ facts: { returned: 15 } }]);
  });

  it("is explained one at a time, and no more than a few wait", async () => {
    const { state, seen, finish } = setUp();
    for (const filter of [{}, { pages: 1 }, { title: "a" }])
      for (const sort of ["pages", "title", "price", "createdAt"]) seen.note(answered({ filter, sort }));
    await finish();
    expect([state.most, state.explained]).toEqual([1, 8]);
    seen.note(answered({ filter: { title: "a" }, sort: "price" }));
    await finish();
    expect(state.explained).toBe(9);
  });

  it("is explained again at every thousandth time", async () => {
    const { state, seen, finish } = setUp();
    for (let time = 1; time <= 999; time += 1) seen.note(answered({}));
    await finish();
    expect(state.explained).toBe(1);
    seen.note(answered({}));
    await finish();
    expect(state.explained).toBe(2);
  });

  it("is explained again when it was slow, after a rest", async () => {
    const { state, seen, finish } = setUp();
    const slowAt = async (now: number) => {
      state.now = now;
      seen.note(answered({}, 700));
      await finish();
      return state.explained;
    };
    expect([await slowAt(0), await slowAt(599_999), await slowAt(600_000)]).toEqual([1, 1, 2]);
  });

  it("is explained again when the table was changed", async () => {
    const { state, seen, finish } = setUp();
    const changed = catalogOf([
      { name: "books", columns: [], indexes: [["createdAt", "updatedAt"]] },
    ]).tables.get("books");
    seen.note(answered({ fields: "id" }));
    seen.note(answered({ fields: "id" }, 1, changed));
    await finish();
    expect(state.explained).toBe(2);
  });

  describe("is known of a table and its members, not of their names", () => {
    const column = bareColumn("pages", { type: "int" });
    const author = bareRelation("author", "books", { inverse: "works" });
    const fields = { pages: "pages", other: "pages", author: "authorId", again: "authorId" };
    const made = { columns: [column], relations: [author], storage: { collection: "books", fields } };
    /** The table as it is after a change, beside another one that has no records yet. */
    const after = (name: string, own: Partial<TableDefinition>): Table => {
      const definition = bareTable("books", { ...made, name, ...own });
      const found = buildCatalog(1, [definition], []).tables.get(name);
      if (found === undefined) throw new Error(name);
      return found;
    };
    const asked = { filter: { pages: 1 }, sort: "-author.pages,_count(works)" };
    const known = async (of: Table): Promise<string[]> => {
      const { seen, finish } = setUp();
      seen.note(answered(asked, 1, after("books", {})));
      await finish();
      return (await seen.of(of)).map(({ shape }) => shape.table);
    };

    it.each<[what: string, then: Table, expected: string[]]>([
      ["a description that is new", after("books", { description: "All of them" }), ["books"]],
      [
        "a column's new description",
        after("books", { columns: [{ ...column, description: "How many" }] }),
        ["books"],
      ],
      ["another name", after("novels", { relations: [{ ...author, table: "novels" }] }), ["novels"]],
      ["another table of its name", after("books", { id: "other" }), []],
      ["another column of that name", after("books", { columns: [{ ...column, id: "other" }] }), []],
      ["another type", after("books", { columns: [{ ...column, type: "string" }] }), []],
      ["an encrypted column", after("books", { columns: [{ ...column, encrypted: true }] }), []],
      ["another relation of that name", after("books", { relations: [{ ...author, id: "again" }] }), []],
      ["another kind of relation", after("books", { relations: [{ ...author, type: "many-to-many" }] }), []],
    ])("%s", async (_what, then, expected) => {
      expect(await known(then)).toEqual(expected);
    });
  });

  it("is not known when it can't be explained, and nobody else suffers", async () => {
    const { state, seen, finish } = setUp();
    state.fails = true;
    seen.note(answered({}));
    await finish();
    expect(await seen.of(table("books"))).toEqual([]);
    state.fails = false;
    seen.note(answered({ sort: "pages" }));
    await finish();
    expect(await seen.of(table("books"))).toHaveLength(1);
  });

  it("is forgotten for the shape that was not seen for longest, when there are many", async () => {
    const { seen, finish } = setUp();
    const sorts = ["pages", "title", "price", "createdAt", "updatedAt", "id"];
    let made = 0;
    for (const a of sorts)
      for (const b of sorts)
        for (const c of sorts)
          for (const sign of ["", "-"])
            for (const filter of [{}, { pages: 1 }, { title: "a" }]) {
              if (new Set([a, b, c]).size < 3 || made >= 600) continue;
              made += 1;
              seen.note(answered({ filter, sort: `${sign}${a},${b},${c}` }));
              if (made % 8 === 0) await finish();
            }
    await finish();
    expect(made).toBeGreaterThan(510);
    expect(await seen.of(table("books"))).toHaveLength(500);
  });
});
