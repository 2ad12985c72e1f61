// A change of many records goes on when nobody waits for its answer any more.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Rig, readError, startRig } from "../../gateway/support/rig.js";
import { type Api, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import type { CommandProxy, Fate } from "../../support/command-proxy.js";
import type { Stack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { makeTable } from "./make.js";

let held: BehindProxy;
let proxy: CommandProxy;
let stack: Stack;
let admin: Api;
let hasty: Rig;

beforeAll(async () => {
  held = await startBehindProxy();
  ({ stack, proxy } = held);
  admin = await asAdmin(stack);
  hasty = await startRig({ DATA_SERVICE_URL: stack.dataUrl }, { answerTimeoutMs: 1_000 });
  await makeTable(admin, { name: "notes", columns: [{ name: "text", type: "string" }] });
  await admin.post("/notes", [{ text: "one" }, { text: "two" }, { text: "three" }]);
});

afterAll(async () => {
  await hasty?.stop();
  await held?.stop();
});

describe("a change of many records that takes longer than the gateway waits", () => {
  it("is answered with 504, and continues", async () => {
    let goOn = (): void => undefined;
    const held = new Promise<Fate>((resolve) => {
      goOn = () => resolve("pass");
    });
    proxy.decide((command) => (command.includes("changed for all") ? held : "pass"));
    const { body } = await admin.post("/auth/login", stack.admin);
    const answer = await hasty.call(`/api/notes?filter=${encodeURIComponent('{"text":{"_neq":""}}')}`, {
      method: "PATCH",
      headers: { Authorization: `Bearer ${body.accessToken}`, "Content-Type": "application/json" },
      body: JSON.stringify({ text: "changed for all" }),
    });
    expect(answer.status).toBe(504);
    expect((await readError(answer)).error.code).toBe("QUERY_TIMEOUT");
    goOn();
    const changed = async () =>
      (await admin.get("/notes", { filter: { text: "changed for all" } })).body.data.length;
    expect(await until(changed, (count) => count === 3, 30_000)).toBe(3);
  });
});
