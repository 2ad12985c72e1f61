// Contract 3.1: a refresh that waited in a service that stood still, until nobody waited for it any more.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Answer, apiOf } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});

afterAll(() => stack?.stop());

const logIn = (): Promise<Answer> => apiOf(stack.dataUrl).post("/auth/login", stack.admin);
const refresh = (refreshToken: string): Promise<Answer> =>
  apiOf(stack.dataUrl).post("/auth/refresh-token", { refreshToken });

/** Asks with the token while the service stands still, and hangs up before it goes on. */
async function abandon(refreshToken: string, id: string): Promise<void> {
  const { process } = stack.dataService;
  process.kill("SIGSTOP");
  try {
    const asked = apiOf(stack.dataUrl).send("POST", "/auth/refresh-token", {
      headers: { "Content-Type": "application/json", "X-Correlation-ID": id },
      body: JSON.stringify({ refreshToken }),
      signal: AbortSignal.timeout(300),
    });
    await expect(asked).rejects.toMatchObject({ name: "TimeoutError" });
    // Its end comes to the service's machine right behind it.
    await delay(50);
  } finally {
    process.kill("SIGCONT");
  }
  await until(() => linesOf(id).some((line) => line.includes('"path":"/auth/refresh-token"')));
}

const linesOf = (id: string): string[] =>
  stack.dataService
    .log()
    .split("\n")
    .filter((line) => line.includes(id));

it("does not end the session whose tokens were replaced meanwhile, and is in the log", async () => {
  const first = (await logIn()).body;
  const second = (await refresh(first.refreshToken)).body;
  const third = (await refresh(second.refreshToken)).body;
  await abandon(first.refreshToken, "old-token");
  expect((await refresh(third.refreshToken)).status).toBe(200);
  expect(linesOf("old-token").join("\n")).toContain('"refresh_abandoned"');
  expect(stack.dataService.log()).not.toContain("refresh_token_reuse");
  expect((await refresh(first.refreshToken)).status).toBe(401);
  expect((await refresh(third.refreshToken)).status).toBe(401);
});

it("does not replace the token that its browser still has", async () => {
  const first = (await logIn()).body;
  await abandon(first.refreshToken, "current-token");
  const [second, again] = [await refresh(first.refreshToken), await refresh(first.refreshToken)];
  expect([second.status, again.body.refreshToken]).toEqual([200, second.body.refreshToken]);
  expect(linesOf("current-token").join("\n")).toContain('"rotation":"rotate"');
});
