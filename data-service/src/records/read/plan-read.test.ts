// What a plan asks the database beforehand, and what comes of it.
import { describe, expect, it } from "@jest/globals";
import type { Table } from "../../catalog/catalog.js";
import { ReadView } from "../../permission/read-view.js";
import { ALWAYS, type AuthorizedPredicate, type Predicate } from "../../query/ast.js";
import { authorizePredicate, authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { catalog, column, rootView, step, table } from "../../query/library-fixture.js";
import type { StoredRecord } from "../../query/lower/document.js";
import { lowerList } from "../../query/lower/read.js";
import type { Parameters } from "../../query/parameters.js";
import { THRESHOLDS } from "../../query/plan/thresholds.js";
import { Effort } from "./effort.js";
import { planKind } from "./plan-kind.js";
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

const isNamed = (name: string): Predicate => ({
  kind: "test",
  column: column("authors.name"),
  test: { op: "eq", value: name },
});
const named = (name: string): Predicate => ({
  kind: "related",
  ...step("books.author"),
  where: isNamed(name),
});

const policyOf = (rows: AuthorizedPredicate) => ({ rows, grants: [{ rows, members: () => true }] });

/** Sees everything but what the rule hides of one table. */
const viewBy = (table: string, rule: Predicate): ReadView => {
  const policy = policyOf(authorizePredicate(rule, rootView));
  return new ReadView(catalog, ({ name }) => (name === table ? policy : policyOf(ALWAYS)));
};

describe("a row rule through a relation", () => {
  const thin: Predicate = { kind: "test", column: column("books.pages"), test: { op: "lt", value: 100 } };
  /** @returns what is read first, and which tables were asked beforehand */
  const planned = async (rule: Predicate, { keys = 1, maxKeys = 5_000, filter = {} } = {}) => {
    const documents: Readonly<Record<string, StoredRecord[]>> = {
      authors: Array.from({ length: keys }, (_, at) => ({ _id: at + 7 })),
      reviews: Array.from({ length: keys }, () => ({ bookId: 7 })),
    };
    const store = {
      read: async ({ name }: Table) => documents[name] ?? [],
      byIds: async () => [],
    };
    const thresholds = { ...THRESHOLDS, maxKeys };
    const query = asked({ filter, sort: "-title" }, viewBy("books", rule));
    const plan = await planRead({ store, thresholds }, query, new Effort(10_000));
    const { query: narrowed, questions } = plan;
    const stages = lowerList(narrowed).map((stage) => Object.keys(stage)[0]);
    return {
      first: lowerList(narrowed)[0],
      stages,
      asked: questions.map((each) => each.table.name),
      kind: planKind(plan),
    };
  };
  const joined = ["$sort", "$set", "$lookup", "$match", "$limit", "$project"];

  it("is replaced by nothing, but the few keys behind it say where it has to look", async () => {
    expect(await planned(named("Ann"))).toEqual({
      first: { $match: { authorId: { $in: [7] } } },
      stages: ["$match", ...joined],
      asked: ["authors"],
      kind: "keys",
    });
  });

  it("counts as a join where nothing says where it has to look", async () => {
    expect((await planned(thin)).kind).toBe("plain");
    expect((await planned(named("Ann"), { keys: 1_001 })).kind).toBe("join");
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
    const not: Predicate = { kind: "not", of: named("Ann") };
    expect(await planned(not)).toMatchObject({ stages: joined, asked: [] });
    expect((await planned({ kind: "or", of: [not, named("Bea")] })).asked).toEqual([]);
    const filter = { id: { _in: [1, 2] } };
    expect(await planned(named("Ann"), { filter })).toMatchObject({
      stages: ["$match", ...joined],
      asked: [],
    });
  });

  it("asks for nothing that may read more than the keys: every list would", async () => {
    const born: Predicate = { kind: "test", column: column("authors.born"), test: { op: "eq", value: 1815 } };
    const withoutIndex: Predicate = { kind: "related", ...step("books.author"), where: born };
    expect(await planned(withoutIndex)).toMatchObject({ stages: joined, asked: [] });
    const both: Predicate = { kind: "and", of: [isNamed("Ann"), born] };
    expect((await planned({ ...withoutIndex, where: both })).asked).toEqual([]);
    // Its mentors are too many, so the authors would each be joined to theirs.
    const mentored: Predicate = { kind: "related", ...step("authors.mentor"), where: isNamed("Ann") };
    const twoHops: Predicate = { kind: "related", ...step("books.author"), where: mentored };
    expect((await planned(twoHops, { keys: 1_001 })).asked).toEqual(["authors"]);
  });

  it("is not asked about once more where children crowd at a few parents", async () => {
    const id = { kind: "test", column: column("reviews.id"), test: { op: "gt", value: 0 } } as const;
    const reviewed: Predicate = { kind: "related", ...step("books.reviews"), where: id };
    expect((await planned(reviewed, { keys: 1_001 })).asked).toEqual(["reviews"]);
  });
});

describe("the row rule of a related table", () => {
  /** Reviews of books by Ann are seen, and all books. */
  const rule: Predicate = { kind: "related", ...step("reviews.book"), where: named("Ann") };
  /** @returns what was asked, in its order: the table, and where it has to look first */
  const questionsOf = async (given: Pick<Parameters, "filter" | "sort">, keys = 1) => {
    const documents = {
      authors: [{ _id: 7 }],
      books: Array.from({ length: keys }, (_, at) => ({ _id: at + 8 })),
      reviews: [],
    };
    const read = async ({ name }: Table) => Object.entries(documents).find(([of]) => of === name)?.[1] ?? [];
    const thresholds = { ...THRESHOLDS, fewParents: 0 };
    const query = asked(given, viewBy("reviews", rule));
    const planned = await planRead(
      { store: { read, byIds: async () => [] }, thresholds },
      query,
      new Effort(10_000),
    );
    const questions = planned.questions.map(({ table, pipeline }) => [table.name, pipeline[0]]);
    return { questions, pipeline: JSON.stringify(lowerList(planned.query, planned.ranking)) };
  };
  const ofAnn = ["authors", { $match: { name: { $eq: "Ann" } } }];
  const byAnn = ["books", { $match: { authorId: { $in: [7] } } }];
  const inBook8 = { bookId: { $in: [8] } };

  it("says by its keys where a filter has to look", async () => {
    const { questions } = await questionsOf({ filter: { reviews: { stars: 5 } } });
    const stars = { stars: { $eq: 5 } };
    expect(questions).toEqual([ofAnn, byAnn, ["reviews", { $match: { $and: [inBook8, stars] } }]]);
  });

  it("is asked about once, however many relations lead to its table", async () => {
    const filter = {
      reviews: { stars: 5 },
      _not: { reviews: { stars: 1, book: { reviews: { stars: 2 } } } },
    };
    const { questions } = await questionsOf({ filter });
    expect(questions.filter(([table]) => table === "authors")).toEqual([ofAnn]);
    const asked = questions
      .filter(([table]) => table === "reviews")
      .map(([, first]) => JSON.stringify(first));
    expect(asked.map((first) => first.includes(JSON.stringify(inBook8)))).toEqual([true, true, true]);
  });

  it("says where a sort has to look, at a glance, in a window and in a ranking of all", async () => {
    for (const [sort, times] of [
      ["-_max(reviews.stars)", 2],
      ["-_max(reviews.stars),title", 1],
      ["-_count(reviews)", 0],
    ] as const) {
      const { questions, pipeline } = await questionsOf({ sort });
      const asked = questions.filter(([table]) => table === "reviews").map(([, first]) => first);
      expect(asked).toEqual(Array.from({ length: times }, () => ({ $match: inBook8 })));
      expect(questions.filter(([table]) => table === "authors")).toEqual([ofAnn]);
      expect(pipeline).toContain(JSON.stringify({ $match: inBook8 }));
    }
  });

  it("is left alone where its keys are many, and where the filter names records", async () => {
    const { questions } = await questionsOf({ filter: { reviews: { stars: 5 } } }, 1_001);
    expect(questions.at(-1)).toEqual(["reviews", { $match: { stars: { $eq: 5 } } }]);
    const named = await questionsOf({ filter: { reviews: { id: 3 } } });
    expect(named.questions.map(([table]) => table)).toEqual(["reviews"]);
  });
});
