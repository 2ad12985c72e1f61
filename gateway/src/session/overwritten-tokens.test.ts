// How long a token counts as replaced, and who is told.
import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import { makeOverwrittenTokens } from "./overwritten-tokens.js";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Whether somebody who asks now is told at once. */
function isNoted(tokens: ReturnType<typeof makeOverwrittenTokens>, refreshToken: string): boolean {
  const act = jest.fn();
  tokens.whenNoted(refreshToken, act)();
  return act.mock.calls.length > 0;
}

it("a token is noted for 30 s from the last sign-in that has replaced it", () => {
  const tokens = makeOverwrittenTokens();
  tokens.note("svc_rt_1");
  jest.advanceTimersByTime(20_000);
  tokens.note("svc_rt_1");
  jest.advanceTimersByTime(29_000);
  expect(isNoted(tokens, "svc_rt_1")).toBe(true);
  jest.advanceTimersByTime(1_000);
  expect(isNoted(tokens, "svc_rt_1")).toBe(false);
});

it("whoever waits is told of the token they wait for, until they stop", () => {
  const tokens = makeOverwrittenTokens();
  const act = jest.fn();
  const stop = tokens.whenNoted("svc_rt_1", act);
  tokens.note("svc_rt_2");
  expect(act).toHaveBeenCalledTimes(0);
  tokens.note("svc_rt_1");
  expect(act).toHaveBeenCalledTimes(1);
  stop();
  tokens.note("svc_rt_1");
  expect(act).toHaveBeenCalledTimes(1);
});
