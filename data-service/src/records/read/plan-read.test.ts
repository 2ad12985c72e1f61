// A query that is asked again is planned anew only if its plan depends on the data.
import { describe, expect, it } from "@jest/globals";
import { authorizeRead } from "../../query/authorize-read.js";
import { bindQuery } from "../../query/bind-query.js";
import { rootView, table } from "../../query/library-fixture.js";
import type { Parameters } from "../../query/parameters.js";
import { THRESHOLDS } from "../../query/plan/thresholds.js";
import { Effort } from "./effort.js";
import { planRead } from "./plan-read.js";

const deps = { store: { read: async () => [], byIds: async () => [] }, thresholds: THRESHOLDS };
const asked = (given: Omit<Parameters, "filterFromText">) =>
  authorizeRead(
    bindQuery({ filterFromText: false, ...given }, table("books"), rootView, {
      maxDepth: 7,
      maxLimit: undefined,
    }),
    rootView,
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
