// An import says truly how much of it is there, also where the database's last answer about a batch was lost.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import type { CommandProxy, Fate } from "../../support/command-proxy.js";
import { makeTable, valuesOf } from "../records/make.js";

const LINES = ["a", "b", "c"];

let held: BehindProxy;
let proxy: CommandProxy;
let admin: Api;

beforeAll(async () => {
  held = await startBehindProxy();
  ({ proxy } = held);
  admin = await asAdmin(held.stack);
});

afterAll(() => held?.stop());

const importInto = (table: string): Promise<Answer> =>
  admin.send("POST", `/${table}/import`, {
    headers: { "Content-Type": "application/x-ndjson" },
    body: LINES.map((title) => `${JSON.stringify({ title })}\n`).join(""),
  });

/** What says in the database that a batch is whole. */
const isEnd = (command: string): boolean =>
  command.includes("_unfinished\u0000") &&
  !command.includes("steps") &&
  !command.includes("\u0002find\u0000");

/** From the end of the first batch on. @param then what becomes of all that comes after it */
function loseAnswer(then: Fate): void {
  let isLost = false;
  proxy.decide((command) => {
    if (isLost) return then;
    isLost = isEnd(command);
    return isLost ? "answer lost" : "pass";
  });
}

describe("a batch whose end was not answered", () => {
  it("is imported all the same, and counted", async () => {
    await makeTable(admin, { name: "things", columns: [{ name: "title", type: "string" }] });
    loseAnswer("pass");
    const { status, body } = await importInto("things");
    expect([status, body.error ?? body.data]).toMatchObject([200, [{ imported: 3 }]]);
    expect(await valuesOf(admin, "things", "title")).toEqual(LINES);
  });

  it("is said to be uncertain when the database stays away", async () => {
    await makeTable(admin, { name: "others", columns: [{ name: "title", type: "string" }] });
    loseAnswer("lost");
    const { status, body } = await importInto("others");
    proxy.decide(() => "pass");
    expect([status, body.error.details]).toMatchObject([503, { imported: 0, next: 1, uncertain: true }]);
  });
});
