// Asking again and again until there is an answer.
import { describe, expect, it } from "@jest/globals";
import { until } from "./until.js";

const LONG_MS = 60_000;

function refuse(): never {
  throw new Error("too late");
}

/** Says no so often, and then yes. */
function askAfter(refusals: number) {
  const asked: number[] = [];
  const ask = async (): Promise<"yes" | false> => asked.push(performance.now()) > refusals && "yes";
  return { asked, ask };
}

describe("waiting", () => {
  it("ends with the first answer, with as much time between two questions as was said", async () => {
    const { asked, ask } = askAfter(2);
    expect(await until(ask, { patienceMs: LONG_MS, everyMs: 20, tooLate: refuse })).toBe("yes");
    const [first = 0, second = 0, third = 0] = asked;
    expect(asked).toHaveLength(3);
    // A timer may be a millisecond early.
    expect(Math.min(second - first, third - second)).toBeGreaterThanOrEqual(19);
  });

  it("takes twice as long between two questions each time, up to what was said", async () => {
    const { asked, ask } = askAfter(4);
    const patience = { patienceMs: LONG_MS, everyMs: 10, atMostMs: 40, tooLate: refuse };
    expect(await until(ask, patience)).toBe("yes");
    const pauses = asked.slice(1).map((at, before) => at - (asked[before] ?? 0));
    for (const [at, least] of [10, 20, 40, 40].entries())
      expect(pauses[at]).toBeGreaterThanOrEqual(least - 1);
  });

  it("waits for nothing that is so already, however little patience there is", async () => {
    const { ask } = askAfter(0);
    expect(await until(ask, { patienceMs: 0, everyMs: LONG_MS, tooLate: refuse })).toBe("yes");
  });

  it("takes nothing but false for a no", async () => {
    const patience = { patienceMs: 0, everyMs: LONG_MS, tooLate: refuse };
    expect(await until(async () => undefined, patience)).toBeUndefined();
    expect(await until(async () => 0, patience)).toBe(0);
  });

  it("is refused once it is too late, and asks no more", async () => {
    const { asked, ask } = askAfter(Number.POSITIVE_INFINITY);
    await expect(until(ask, { patienceMs: 30, everyMs: 10, tooLate: refuse })).rejects.toThrow("too late");
    const { length } = asked;
    expect(length).toBeGreaterThan(1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(asked).toHaveLength(length);
  });

  it("goes on without an answer where that is what being too late means", async () => {
    const { ask } = askAfter(Number.POSITIVE_INFINITY);
    expect(await until(ask, { patienceMs: 0, everyMs: 5, tooLate: () => "without" })).toBe("without");
  });

  it("fails as the question does", async () => {
    const fail = () => Promise.reject(new Error("the database is away"));
    await expect(until(fail, { patienceMs: LONG_MS, everyMs: 5, tooLate: refuse })).rejects.toThrow("away");
  });
});
