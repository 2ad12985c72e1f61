// When a process refuses requests as overloaded.
import { describe, expect, it } from "@jest/globals";
import { decideOverload } from "./load-shedding.js";

const LIMITS = { maxInFlight: 10, maxEventLoopDelayMs: 100, maxWaitMs: 2_000 };
const NO_LIMITS = { maxInFlight: 0, maxEventLoopDelayMs: 0, maxWaitMs: 0 };
const NONE = { oldestMs: 0, answeredPerSecond: 0 };
const LONG = { oldestMs: 1e6, answeredPerSecond: 1 };
const before = (): number => 1e6;
const waiting = (count: number, oldestMs: number, answeredPerSecond: number) => ({
  inFlight: 0,
  delayMs: 0,
  waiting: { oldestMs, answeredPerSecond },
  before: () => count,
});

/** One client has many that take long, and each of others has one. */
const besideOne = (many: number, others: number) => ({
  ...waiting(many + others, 60_000, 0),
  before: (mostOfAnother: number) => Math.min(many, mostOfAnother) + others,
});

describe("decideOverload", () => {
  it.each([
    ["below both limits", LIMITS, { inFlight: 9, delayMs: 100, waiting: NONE, before }, undefined],
    [
      "with as many requests as allowed",
      LIMITS,
      { inFlight: 10, delayMs: 0, waiting: NONE, before },
      "in_flight",
    ],
    [
      "with an event loop that is late",
      LIMITS,
      { inFlight: 0, delayMs: 100.5, waiting: NONE, before },
      "event_loop",
    ],
    ["with more before it than are answered in time", LIMITS, waiting(200, 2_001, 100), "waiting"],
    ["with as many as are answered in time", LIMITS, waiting(199, 2_001, 100), undefined],
    ["with a burst of which nobody has waited long", LIMITS, waiting(1e6, 2_000, 100), undefined],
    ["with few that take long", LIMITS, waiting(99, 60_000, 0), undefined],
    ["with many that take long", LIMITS, waiting(100, 60_000, 0), "waiting"],
    ["with many of one other client", LIMITS, besideOne(1e6, 0), undefined],
    ["with many of one other client, and some of more", LIMITS, besideOne(1e6, 75), "waiting"],
    ["without limits", NO_LIMITS, { inFlight: 1e6, delayMs: 1e6, waiting: LONG, before }, undefined],
  ])("%s", (_case, limits, now, expected) => {
    expect(decideOverload(limits, now)).toBe(expected);
  });
});
