// When a caller is looked at again: not in a short request, and before what is known of them is too old.
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { LastingCaller, LOOK_AT_CALLER_MS } from "./lasting-caller.js";
import { ANONYMOUS } from "./principal.js";

const BEGAN = 100_000;

let looks: number;

const passes = (ms: number): void => void jest.spyOn(performance, "now").mockReturnValue(BEGAN + ms);

beforeEach(() => {
  looks = 0;
  passes(0);
});

afterEach(() => void jest.restoreAllMocks());

/** @param age of what is known when the request begins */
function callerKnownFor(age: number): LastingCaller {
  const look = async () => {
    looks += 1;
    return ANONYMOUS;
  };
  return new LastingCaller(ANONYMOUS, look, BEGAN - age);
}

describe("a lasting caller", () => {
  it.each([
    ["3.5 s after the request began", 0, LOOK_AT_CALLER_MS],
    ["5 s after they were read for an earlier request", 4_000, 1_000],
  ])("is looked at %s, and not before", async (_when, age, due) => {
    const caller = callerKnownFor(age);
    expect(caller.dueAt()).toBe(BEGAN + due);
    passes(due - 1);
    await caller.now();
    expect(looks).toBe(0);
    passes(due);
    await caller.now();
    expect([looks, caller.readAt, caller.dueAt()]).toEqual([1, BEGAN + due, BEGAN + due + LOOK_AT_CALLER_MS]);
  });

  it("is not looked at for a body that came at once, however long they have been known", async () => {
    const caller = callerKnownFor(3_000);
    passes(999);
    await caller.now(1_000);
    expect(looks).toBe(0);
    passes(1_000);
    await caller.now(1_000);
    expect(looks).toBe(1);
  });
});
