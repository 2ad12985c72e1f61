// R24: the clocks of gateway and data service, or of two data services, differ. A little is not noticed; more is refused in
// clear words, and logged.
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { Browser } from "../contract/auth/jar.js";
import type { Row } from "../contract/records/make.js";
import { type Api, apiOf, asAdmin, signIn } from "../support/api.js";
import { loggedByNow, untilLogged } from "../support/process-facts.js";
import { fileOf } from "../support/run-state.js";
import { type Stack, startAnother, startStack } from "../support/stack.js";

const SHIFT = pathToFileURL(fileOf("@portico/test/resilience/support/clock-shift")).href;
const SECOND = 1_000;

/** One service's clock is ahead by so much. */
const shiftOf = (service: string, ms: number) => ({
  PORTICO_CLOCK_SHIFT_MS: String(ms),
  PORTICO_CLOCK_SHIFT_OF: service,
  NODE_OPTIONS: `--import=${SHIFT}`,
});

const startShifted = (ms: number): Promise<Stack> => startStack({ env: shiftOf("gateway", ms) });

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

describe("a data service that is 30 seconds ahead", () => {
  it("deletes records whose ids come back elsewhere, and their histories are whole and in order", async () => {
    const stack = await startStack();
    const ahead = await startAnother(stack, shiftOf("data-service", 30 * SECOND));
    try {
      const admin = await signIn(stack.dataUrl, stack.admin);
      const there = await signIn(ahead.url, stack.admin);
      const notes = { name: "notes", history: true, columns: [{ name: "text", type: "string" }] };
      expect((await admin.post("/svc_table", notes)).status).toBe(201);
      await admin.post("/svc_permission", { role: null, table: "notes", action: "read" });
      const { id } = (await admin.post("/notes", { text: "first" })).body.data[0];
      const headers = { "Content-Type": "application/x-ndjson" };
      const bringBack = () =>
        admin.send("POST", "/notes/import", { headers, body: JSON.stringify({ id, text: "again" }) });
      const livesThere = ["created 1", "updated 2", "deleted 3"];
      for (const _life of [1, 2]) {
        await admin.patch(`/notes/${id}`, { text: "changed" });
        expect((await there.delete(`/notes/${id}`)).status).toBe(200);
        expect((await bringBack()).status).toBe(200);
      }
      const historyFor = async (api: Api): Promise<string[]> => {
        const { body } = await api.get(`/notes/${id}/history`);
        return body.data.map(({ event, revision }: Row) => `${event} ${revision}`).reverse();
      };
      expect(await historyFor(apiOf(stack.dataUrl))).toEqual(["created 1"]);
      expect(await historyFor(admin)).toEqual([...livesThere, ...livesThere, "created 1"]);
    } finally {
      await ahead.stop();
      await stack.stop();
    }
  });
});
