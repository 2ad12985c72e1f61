// A create of which the database did not say whether it is whole: what a look shows then may be relied on.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Db } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import type { CommandProxy } from "../../support/command-proxy.js";
import { until } from "../../support/process-facts.js";
import { makeTable } from "./make.js";

let held: BehindProxy;
let proxy: CommandProxy;
let admin: Api;
let db: Db;

beforeAll(async () => {
  held = await startBehindProxy();
  ({ proxy, db } = held);
  admin = await asAdmin(held.stack);
  await makeTable(admin, { name: "ships", columns: [{ name: "name", type: "string" }] });
});

afterAll(() => held?.stop());

/** What says that a request is whole. */
const isEnd = (command: string): boolean =>
  command.includes("\u0002update\u0000\u000c\u0000\u0000\u0000_unfinished") &&
  command.includes("\u0008done\u0000\u0001");

describe("a create that nobody knows to be whole", () => {
  it("is as a look says, and stays so with what was done to it since", async () => {
    proxy.decide((command) => (isEnd(command) ? "lost" : "pass"));
    const { status, body } = await admin.post("/ships", [{ name: "Hope" }, { name: "Faith" }]);
    expect([status, body.error.details]).toEqual([503, { uncertain: true }]);
    const look = await admin.get("/ships", { sort: "name" });
    expect(look.body.data).toHaveLength(2);
    expect((await admin.patch(`/ships/${look.body.data[0].id}`, { name: "Charity" })).status).toBe(200);
    // As if a minute had passed.
    const notes = db.collection("_unfinished");
    await notes.updateMany({}, { $set: { at: new Date(Date.now() - 300_000) } });
    // As often as it is looked for what was left, and once more.
    await new Promise((resolve) => setTimeout(resolve, 11_000));
    proxy.decide(() => "pass");
    await until(
      () => notes.countDocuments(),
      (count) => count === 0,
      30_000,
    );
    const names = (await admin.get("/ships", { sort: "name" })).body.data.map(
      ({ name }: { name: string }) => name,
    );
    expect(names).toEqual(["Charity", "Hope"]);
  }, 120_000);
});
