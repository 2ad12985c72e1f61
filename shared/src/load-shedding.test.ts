import { describe, expect, it } from "@jest/globals";
import { decideOverload } from "./load-shedding.js";

const LIMITS = { maxInFlight: 10, maxEventLoopDelayMs: 100 };
const NO_LIMITS = { maxInFlight: 0, maxEventLoopDelayMs: 0 };

describe("decideOverload", () => {
  it.each([
    ["below both limits", LIMITS, { inFlight: 9, delayMs: 100 }, undefined],
    ["with as many requests as allowed", LIMITS, { inFlight: 10, delayMs: 0 }, "in_flight"],
    ["with an event loop that is late", LIMITS, { inFlight: 0, delayMs: 100.5 }, "event_loop"],
    ["without limits", NO_LIMITS, { inFlight: 1e6, delayMs: 1e6 }, undefined],
  ])("%s", (_case, limits, now, expected) => {
    expect(decideOverload(limits, now)).toBe(expected);
  });
});
