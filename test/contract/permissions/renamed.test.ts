// Contract 7: a rule is never applied to a name that it was not written for, whatever the change of a table has just made
// of its names, on every instance, and also when the one that makes the change dies in it.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Db } from "mongodb";
import { type Api, apiOf, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import type { CommandProxy } from "../../support/command-proxy.js";
import { REPAIRING_OFTEN, type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row } from "../records/make.js";
import { patchConfirmed } from "../tables/change.js";

/** Longer than an instance believes its tables and rules without asking, and than the dead are waited for. */
const SETTLED_MS = 3_000;

let held: BehindProxy;
let proxy: CommandProxy;
let stack: Stack;
let twin: Stack;
let db: Db;
let admin: Api;
let here: Api;
let there: Api;

beforeAll(async () => {
  twin = await startStack({ env: REPAIRING_OFTEN });
  held = await startBehindProxy(twin);
  ({ stack, proxy, db } = held);
  admin = await asAdmin(twin);
  [here, there] = [apiOf(stack.dataUrl), apiOf(twin.dataUrl)];
});

afterAll(async () => {
  await held?.stop();
  await twin?.stop();
});

/** A table of which visitors may see the titles. */
async function titled(name: string, record: object): Promise<Row> {
  const columns = ["title", "secret"].map((each) => ({ name: each, type: "string" }));
  const made = await makeTable(admin, { name, columns });
  await make(admin, name, record);
  return made;
}

const mayRead = (table: string) =>
  make(admin, "svc_permission", { role: null, table, action: "read", fields: "title" });
const swapped = ({ columns }: Row): Row[] =>
  columns.map((each: Row) => ({ ...each, name: each.name === "title" ? "secret" : "title" }));

/** What a visitor is shown of a table on both instances, in all answers while something is done and for a while after it. */
async function shownWhile(table: string, act: () => Promise<void>): Promise<string[]> {
  const seen = new Set<string>();
  let isOver = false;
  const watch = async (api: Api): Promise<void> => {
    while (!isOver) {
      const answer = await api.get(`/${table}`, { fields: "*" }).catch(() => undefined);
      if (answer?.status === 200)
        seen.add(JSON.stringify(answer.body.data.map(({ id: _id, ...rest }: Row) => rest)));
      await delay(10);
    }
  };
  const watching = [here, there].map(watch);
  await delay(SETTLED_MS);
  await act();
  await delay(SETTLED_MS);
  isOver = true;
  await Promise.all(watching);
  return [...seen];
}

const changed = async (id: string, wish: object): Promise<void> => {
  expect((await admin.patch(`/svc_table/${id}`, wish)).status).toBe(200);
};

describe("while names change, a visitor is shown", () => {
  it("never the column that takes over the name of the one that the rule shows", async () => {
    const notes = await titled("notes", { title: "open", secret: "SECRET" });
    await mayRead("notes");
    const shown = await shownWhile("notes", () => changed(notes.id, { columns: swapped(notes) }));
    expect(shown.join()).not.toContain("SECRET");
    expect(shown).toContain('[{"secret":"open"}]');
  });

  it("never the table that takes over the name of the one that the rule is about", async () => {
    const news = await titled("news", { title: "open" });
    const drafts = await titled("drafts", { title: "SECRET" });
    await mayRead("news");
    const shown = await shownWhile("news", async () => {
      await changed(news.id, { name: "archive" });
      await changed(drafts.id, { name: "news" });
    });
    expect(shown.join()).not.toContain("SECRET");
    expect(shown).toContain('[{"title":"open"}]');
    for (const api of [here, there]) {
      const { status, body } = await api.get("/archive", { fields: "title" });
      expect([status, body.data]).toEqual([200, [{ title: "open" }]]);
      expect((await api.get("/news")).status).toBe(401);
    }
  });

  it("never the column that it left out when that comes back, though its rule was changed meanwhile", async () => {
    const memos = await titled("memos", { title: "open", secret: "SECRET" });
    const rule = await make(admin, "svc_permission", {
      role: null,
      table: "memos",
      action: "read",
      fields: "-secret",
    });
    const [title] = memos.columns;
    await patchConfirmed(admin, memos.id, { columns: [{ id: title.id }] });
    await admin.patch(`/svc_permission/${rule.id}`, { description: "for all" });
    const shown = await shownWhile("memos", async () => {
      expect((await admin.send("POST", `/svc_table/${memos.id}/undo`)).status).toBe(200);
    });
    expect(shown.join()).not.toContain("SECRET");
    for (const api of [here, there]) {
      const { status, body } = await api.get("/memos", { fields: "title" });
      expect([status, body.data]).toEqual([200, [{ title: "open" }]]);
    }
  });

  it("what the rule shows under its new name at once, when the instance that renames it dies before the rules follow", async () => {
    const posts = await titled("posts", { title: "open", secret: "SECRET" });
    await mayRead("posts");
    const root = await asAdmin(stack);
    const rule = () => db.collection("svc_permission").findOne({ table: "posts" });
    const shown = await shownWhile("posts", async () => {
      proxy.decide((command) => {
        if (!command.includes("svc_permission") || !command.includes("_followed")) return "pass";
        stack.dataService.process.kill("SIGKILL");
        return "lost";
      });
      await root.patch(`/svc_table/${posts.id}`, { columns: swapped(posts) });
      proxy.decide(() => "pass");
      await until(rule, (now) => now?.fields === "secret", 30_000);
    });
    expect(shown.join()).not.toContain("SECRET");
    expect(shown).toContain('[{"secret":"open"}]');
  });
});
