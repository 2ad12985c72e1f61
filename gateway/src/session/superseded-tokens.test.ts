// How long a token counts as superseded, how many do, and who is told.
import { expect, it, jest } from "@jest/globals";
import { makeSupersededTokens, type NotedTokens } from "./superseded-tokens.js";

/** Whether somebody who asks now is told at once. */
function isNoted(tokens: NotedTokens, refreshToken: string): boolean {
  const act = jest.fn();
  tokens.whenNoted(refreshToken, act)();
  return act.mock.calls.length > 0;
}

it("a token is noted for 30 s from the last sign-in that has replaced it", () => {
  let milliseconds = 1_000_000;
  const { bySignIn } = makeSupersededTokens({ now: () => new Date(milliseconds) });
  bySignIn.note("svc_rt_1");
  milliseconds += 20_000;
  bySignIn.note("svc_rt_1");
  milliseconds += 29_000;
  expect(isNoted(bySignIn, "svc_rt_1")).toBe(true);
  milliseconds += 1_001;
  expect(isNoted(bySignIn, "svc_rt_1")).toBe(false);
});

it("whoever waits is told of the token they wait for, until they stop", () => {
  const { bySignIn } = makeSupersededTokens();
  const act = jest.fn();
  const stop = bySignIn.whenNoted("svc_rt_1", act);
  bySignIn.note("svc_rt_2");
  expect(act).toHaveBeenCalledTimes(0);
  bySignIn.note("svc_rt_1");
  expect(act).toHaveBeenCalledTimes(1);
  stop();
  bySignIn.note("svc_rt_1");
  expect(act).toHaveBeenCalledTimes(1);
});

it("no more than ten thousand are noted, the last ones, as anybody can log out with made-up tokens", () => {
  const { byLogOut } = makeSupersededTokens();
  for (let at = 0; at <= 10_000; at++) byLogOut.note(`made up ${at}`);
  expect([0, 1, 10_000].map((at) => isNoted(byLogOut, `made up ${at}`))).toEqual([false, true, true]);
});
