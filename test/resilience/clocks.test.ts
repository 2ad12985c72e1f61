// R24: the clocks of gateway and data service differ. A little is not noticed; more is refused in clear words, and logged.
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { Browser } from "../contract/auth/jar.js";
import { apiOf, asAdmin } from "../support/api.js";
import { loggedByNow, untilLogged } from "../support/process-facts.js";
import { fileOf } from "../support/run-state.js";
import { type Stack, startStack } from "../support/stack.js";

const SHIFT = pathToFileURL(fileOf("@portico/test/resilience/support/clock-shift")).href;
const SECOND = 1_000;

/** The gateway's clock is ahead by so much. */
function startShifted(ms: number): Promise<Stack> {
  const env = { PORTICO_CLOCK_SHIFT_MS: String(ms), PORTICO_CLOCK_SHIFT_OF: "gateway" };
  return startStack({ env: { ...env, NODE_OPTIONS: `--import=${SHIFT}` } });
}

const startSignIn = (stack: Stack) =>
  apiOf(`${stack.appUrl}/api`).get(`/auth/google?redirect=${encodeURIComponent(`${stack.appUrl}/after`)}`);

describe.each([25, -25])("a gateway that is %d seconds ahead", (seconds) => {
  it("signs in, reads by cookie and by token, and begins a sign-in elsewhere", async () => {
    const stack = await startShifted(seconds * SECOND);
    try {
      const browser = new Browser(stack);
      await browser.logIn(stack.admin);
      expect((await browser.get("/me")).status).toBe(200);
      expect((await (await asAdmin(stack)).get("/me")).status).toBe(200);
      expect((await startSignIn(stack)).status).toBe(302);
      expect(await loggedByNow(stack)).not.toMatch(/"status":(?:401|5\d\d)/);
    } finally {
      await stack.stop();
    }
  });
});

describe.each([5, -5])("a gateway that is %d minutes ahead", (minutes) => {
  it("still serves sessions; what it signs is refused with 401, and the log says what to look at", async () => {
    const stack = await startShifted(minutes * 60 * SECOND);
    try {
      const browser = new Browser(stack);
      await browser.logIn(stack.admin);
      expect((await browser.get("/me")).status).toBe(200);
      expect((await (await asAdmin(stack)).get("/me")).status).toBe(200);
      const { status, body } = await startSignIn(stack);
      expect([status, body.error.code]).toEqual([401, "UNAUTHORIZED"]);
      await untilLogged(stack.dataService, /"level":"warn".*clocks/);
      expect(await loggedByNow(stack)).not.toMatch(/"status":5\d\d/);
    } finally {
      await stack.stop();
    }
  });
});
