// What the benchmark says of its figures: medians, ratios, bars, and tables that show what is missing.
import { describe, expect, test } from "@jest/globals";
import { verdictsOf } from "./bars.js";
import { chartOf } from "./chart.js";
import { factsOf, problemOf } from "./check.js";
import { makeBlog } from "./data.js";
import { type Figure, figuresOf } from "./figures.js";
import type { Cell } from "./measure.js";
import { markdownOf, type Run, rateChart, withReport } from "./report.js";
import { questionOf } from "./workloads.js";

function cell(times: readonly number[], more: Partial<Cell> = {}): Cell {
  return {
    target: "data",
    workload: "by-id",
    connections: 16,
    times,
    errors: {},
    seconds: 2,
    ownCpu: 0.02,
    processes: [
      { role: "server", cpu: 0.04, memory: 100 * 2 ** 20 },
      { role: "engine", cpu: 0.02, memory: 200 * 2 ** 20 },
    ],
    ...more,
  };
}

function figure(target: Figure["target"], rate: number, more: Partial<Figure> = {}): Figure {
  return {
    target,
    workload: "by-id",
    connections: 16,
    rate,
    rates: [rate],
    p50: 2,
    p99: 5,
    answers: 100,
    errors: {},
    cpu: { server: 1, engine: 0.5 },
    memory: { server: 90, engine: 150 },
    loadCpu: 0.1,
    ...more,
  };
}

function runOf(...figures: Figure[]): Run {
  return {
    date: "2026-11-21T12:00:00.000Z",
    machine: "2 cores",
    versions: { "Node.js": "20.20.2" },
    posts: 1000,
    rounds: 3,
    seconds: 2,
    loads: [0.1, 2.2],
    figures,
    leftOut: [],
    startUp: undefined,
  };
}

describe("the figures of the benchmark", () => {
  test("take the median of the rounds' rates and the percentiles of all answers", () => {
    const slow = Array.from({ length: 10 }, () => 9);
    const [figures] = [figuresOf([cell([1, 1, 1, 1]), cell(slow), cell([2, 2])])];
    expect(figures).toHaveLength(1);
    expect(figures[0]).toMatchObject({ rate: 2, rates: [2, 5, 1], p50: 9, p99: 9, answers: 16 });
  });

  test("keep targets, workloads and numbers of connections apart", () => {
    const figures = figuresOf([cell([1]), cell([1], { connections: 1 }), cell([1], { target: "floor" })]);
    expect(figures.map(({ target, connections }) => [target, connections])).toEqual([
      ["data", 16],
      ["data", 1],
      ["floor", 16],
    ]);
  });

  test("share the CPU of each process among the answers, and add failures up", () => {
    const [only] = figuresOf([
      cell([1, 1], { errors: { "503": 2 } }),
      cell([1, 1], { errors: { "503": 1 } }),
    ]);
    expect(only?.cpu.server).toBeCloseTo(20);
    expect(only?.memory).toEqual({ server: 100, engine: 200 });
    expect(only?.errors).toEqual({ "503": 3 });
  });
});

describe("the bars of the benchmark", () => {
  test.each([
    [600, true],
    [590, false],
  ])("hold the data service against the floor: %i of 1000", (rate, holds) => {
    const verdicts = verdictsOf([figure("floor", 1000), figure("data", rate)]);
    expect(verdicts.find(({ bar }) => bar === "data service / floor")).toMatchObject({
      ratio: rate / 1000,
      limit: 0.6,
      holds,
    });
  });

  test("ask more of writes", () => {
    const create = { workload: "create" } as const;
    const verdicts = verdictsOf([figure("floor", 1000, create), figure("data", 650, create)]);
    expect(verdicts[0]).toMatchObject({ limit: 0.7, holds: false });
  });

  test("look at p99 against p50", () => {
    const verdicts = verdictsOf([figure("gateway", 10, { p50: 1, p99: 3.1 })]);
    expect(verdicts).toEqual([expect.objectContaining({ bar: "gateway: p99 / p50", holds: false })]);
  });

  test("say nothing where one of the two was not measured", () => {
    expect(verdictsOf([figure("gateway", 10), figure("parse", 10, { workload: "update" })])).toHaveLength(1);
    expect(
      verdictsOf([figure("data", 1, { connections: 1 }), figure("floor", 1, { connections: 1 })]),
    ).toEqual([]);
  });
});

describe("the report of the benchmark", () => {
  test("shows rates, missed bars, failures, and what can't be done with its reason", () => {
    const text = markdownOf(
      runOf(
        figure("floor", 1000),
        figure("data", 500, { errors: { "503": 7 } }),
        figure("data", 20, { workload: "sign-in" }),
      ),
      "chart.svg",
    );
    expect(text).toContain("| one post by id | 1,000/s; 2.0, 5.0 | 500/s; 2.0, 5.0 (errors) |");
    expect(text).toContain("| sign in | – | 20.0/s; 2.0, 5.0 |");
    expect(text).toContain("**0.50 (0.6) missed**");
    expect(text).toContain("| floor | sign in | can't: has no accounts |");
    expect(text).toContain("| data service | by-id | 16 | 503 | 7 of 107 |");
    expect(text).toContain("![Answers a second](chart.svg)");
  });

  test("takes the place of the former one on its page", () => {
    const page = withReport(
      "before\n<!-- npm run bench: begin -->old<!-- npm run bench: end -->\nafter",
      "new",
    );
    expect(page).toBe("before\n<!-- npm run bench: begin -->\n\nnew\n\n<!-- npm run bench: end -->\nafter");
    expect(() => withReport("no place", "new")).toThrow("must have");
  });

  test("draws a bar for each target, and says who can't", () => {
    const chart = rateChart(runOf(figure("floor", 1000), figure("data", 20, { workload: "sign-in" })), 16);
    expect(chart.match(/<rect /g)).toHaveLength(3);
    expect(chart.match(/can't/g)).toHaveLength(2);
    // An attribute that stands twice makes the picture unreadable.
    expect(chart).not.toMatch(/ ([\w-]+)='[^']*'[^>]* \1=/);
    expect(chartOf("a < b", [])).toContain("a &lt; b");
  });
});

describe("the check before the benchmark", () => {
  const blog = makeBlog(600);
  const facts = factsOf(blog);
  const question = questionOf(1, 0, blog.posts);

  test("takes the right post and refuses another", () => {
    expect(problemOf("by-id", question, { posts: [question.post] }, facts)).toBeUndefined();
    expect(problemOf("by-id", question, { posts: [question.post + 1] }, facts)).toContain("by-id: posts");
  });

  test("refuses a list in another order, a repeated record and a wrong count", () => {
    const all = Array.from({ length: blog.posts }, (_, post) => post);
    const ranked = all.toSorted((a, b) => facts.comments(b).length - facts.comments(a).length);
    const page = ranked.slice((question.page - 1) * 10, question.page * 10);
    expect(problemOf("by-child-count", question, { posts: page }, facts)).toBeUndefined();
    expect(problemOf("by-child-count", question, { posts: [] }, facts)).toContain("keys");
    const [first = 0] = page;
    expect(problemOf("by-child-count", question, { posts: page.map(() => first) }, facts)).toContain(
      "distinct",
    );
    expect(problemOf("substring", question, { posts: [], total: 600, filtered: 0 }, facts)).toContain(
      "matching",
    );
  });
});
