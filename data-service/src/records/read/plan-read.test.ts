// What a plan asks the database beforehand, and what comes of it.
import { describe, expect, it } from "@jest/globals";
import type { Table } from "../../catalog/catalog.js";
import { ReadView } from "../../permission/read-view.js";
import { ALWAYS, type AuthorizedPredicate, type Predicate } from "../../query/ast.js";
import { authorizePredicate, authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { catalog, column, rootView, step, table } from "../../query/library-fixture.js";
import { lowerList } from "../../query/lower/read.js";
import type { Parameters } from "../../query/parameters.js";
import { THRESHOLDS } from "../../query/plan/thresholds.js";
import { Effort } from "./effort.js";
import { planRead } from "./plan-read.js";

const deps = { store: { read: async () => [], byIds: async () => [] }, thresholds: THRESHOLDS };
const asked = (given: Omit<Parameters, "filterFromText">, view = rootView) =>
  authorizeRead(
    bindQuery({ filterFromText: false, ...given }, table("books"), view, {
      maxDepth: 7,
      maxLimit: undefined,
    }),
    view,
  );

const plan = (query: ReturnType<typeof asked>) => planRead(deps, query, new Effort(10_000));

describe("the plan of a query that is asked again", () => {
  it("is the one of the first time, if it asked the database nothing", async () => {
    const query = asked({ filter: { pages: { _gt: 3 } }, sort: "-title" });
    expect(await plan(query)).toBe(await plan(query));
  });

  it("is made anew, if it depends on what the tables hold", async () => {
    const query = asked({ filter: { author: { name: { _eq: "Ann" } } } });
    const [first, second] = [await plan(query), await plan(query)];
    expect([first.questions.length, second.questions.length]).toEqual([1, 1]);
    expect(second).not.toBe(first);
  });
});

describe("a row rule through a relation", () => {
  const named = (name: string): Predicate => ({
    kind: "related",
    ...step("books.author"),
    where: { kind: "test", column: column("authors.name"), test: { op: "eq", value: name } },
  });
  const thin: Predicate = { kind: "test", column: column("books.pages"), test: { op: "lt", value: 100 } };
  const viewBy = (rule: Predicate): ReadView => {
    const policyOf = (rows: AuthorizedPredicate) => ({ rows, grants: [{ rows, members: () => true }] });
    const ofBooks = policyOf(authorizePredicate(rule, rootView));
    return new ReadView(catalog, ({ name }) => (name === "books" ? ofBooks : policyOf(ALWAYS)));
  };
  /** @returns what is read first, and which tables were asked beforehand */
  const planned = async (rule: Predicate, { keys = 1, maxKeys = 5_000, filter = {} } = {}) => {
    const authors = Array.from({ length: keys }, (_, at) => ({ _id: at + 7 }));
    const store = {
      read: async ({ name }: Table) => (name === "authors" ? authors : []),
      byIds: async () => [],
    };
    const thresholds = { ...THRESHOLDS, maxKeys };
    const query = asked({ filter, sort: "-title" }, viewBy(rule));
    const { query: narrowed, questions } = await planRead({ store, thresholds }, query, new Effort(10_000));
    const stages = lowerList(narrowed).map((stage) => Object.keys(stage)[0]);
    return { first: lowerList(narrowed)[0], stages, asked: questions.map((each) => each.table.name) };
  };
  const joined = ["$sort", "$lookup", "$match", "$limit", "$project"];

  it("is replaced by nothing, but the few keys behind it say where it has to look", async () => {
    expect(await planned(named("Ann"))).toEqual({
      first: { $match: { authorId: { $in: [7] } } },
      stages: ["$match", ...joined],
      asked: ["authors"],
    });
  });

  it("is narrowed beside the filter, each by its own keys", async () => {
    const { first, asked } = await planned(named("Ann"), { filter: { author: { name: { _eq: "Bea" } } } });
    expect(first).toEqual({ $match: { $and: [{ authorId: { $in: [7] } }, { authorId: { $in: [7] } }] } });
    expect(asked).toEqual(["authors", "authors"]);
  });

  it("is narrowed where every one of its branches can be", async () => {
    const { first } = await planned({ kind: "or", of: [thin, named("Ann")] });
    expect(first).toEqual({ $match: { $or: [{ pages: { $lt: 100 } }, { authorId: { $in: [7] } }] } });
    const reviewed: Predicate = { kind: "exists", ...step("books.reviews") };
    expect((await planned({ kind: "or", of: [reviewed, named("Ann")] })).asked).toEqual([]);
  });

  it("is left alone where its keys are many, or most, and where the filter names records", async () => {
    expect((await planned(named("Ann"), { keys: 1_001 })).stages).toEqual(joined);
    expect((await planned(named("Ann"), { keys: 4, maxKeys: 3 })).stages).toEqual(joined);
    expect(await planned({ kind: "not", of: named("Ann") })).toMatchObject({ stages: joined, asked: [] });
    const filter = { id: { _in: [1, 2] } };
    expect(await planned(named("Ann"), { filter })).toMatchObject({
      stages: ["$match", ...joined],
      asked: [],
    });
  });
});
