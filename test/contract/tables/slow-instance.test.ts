// An instance that stands still in the middle of a change of a table, for so long that another one ends the change for it,
// and then goes on where it was: with a command that arrives only now.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { Db } from "mongodb";
import { type Answer, type Api, apiOf, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import type { CommandProxy } from "../../support/command-proxy.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row } from "../records/make.js";
import { columnsWith, tableNamed } from "./change.js";

let held: BehindProxy;
let proxy: CommandProxy;
let slow: Stack;
let quick: Stack;
let db: Db;
let first: Api;
let second: Api;

beforeAll(async () => {
  quick = await startStack();
  held = await startBehindProxy(quick);
  ({ stack: slow, proxy, db } = held);
  first = await asAdmin(slow);
  second = await asAdmin(quick);
});

let wake = (): void => {};

afterEach(() => wake());

afterAll(async () => {
  await held?.stop();
  await quick?.stop();
});

/** From the first such command on nothing of the slow instance arrives, until it wakes. */
function sleepAt(is: (command: string) => boolean): { readonly asleep: Promise<void> } {
  const waking = new Promise<"pass">((resolve) => {
    wake = () => {
      proxy.decide(() => "pass");
      resolve("pass");
    };
  });
  const asleep = new Promise<void>((resolve) => {
    let isAsleep = false;
    proxy.decide((command) => {
      if (!isAsleep && is(command)) {
        isAsleep = true;
        resolve();
      }
      return isAsleep ? waking : "pass";
    });
  });
  return { asleep };
}

const isNamed = (name: string) => (command: string) => command.includes(`${name}\u0000`);

/** Until the other one has ended the change of the sleeping one. */
const ended = () =>
  until(
    () => db.collection("_versions").countDocuments({ lock: { $exists: true } }),
    (held) => held === 0,
    60_000,
  );

const indexNames = async (table: string, field: string): Promise<string[]> =>
  (await db.collection(table).indexes()).filter(({ key }) => field in key).map(({ name = "" }) => name);

async function setUnique(api: Api, table: string, unique: boolean): Promise<Answer> {
  const now = await tableNamed(api, table);
  return api.patch(`/svc_table/${now.id}`, { columns: columnsWith(now, "code", { unique }) });
}

const codes = (name: string, unique: boolean): Promise<Row> =>
  makeTable(second, { name, columns: [{ name: "code", type: "string", unique }] });

describe("an instance that wakes up late", () => {
  it("does not refuse its change when that is in use", async () => {
    const made = await codes("news", false);
    const { asleep } = sleepAt((command) => command.includes("isFollowed\u0000\u0001"));
    const columns = columnsWith(made, "code", { name: "renamed", unique: true });
    const late = first.patch(`/svc_table/${made.id}`, { columns });
    await asleep;
    await ended();
    wake();
    const { status, body } = await late;
    expect([status, body.message]).toEqual([200, "Success"]);
    expect(body.data[0].columns[0].name).toBe("renamed");
    expect((await tableNamed(second, "news")).change.state).toBe("done");
  });

  it("drops no index that a later change has built", async () => {
    await codes("lots", true);
    const { asleep } = sleepAt(isNamed("dropIndexes"));
    const late = setUnique(first, "lots", false);
    await asleep;
    await ended();
    expect((await setUnique(second, "lots", true)).status).toBe(200);
    await make(second, "lots", { code: "a" });
    wake();
    expect((await late).status).toBe(200);
    expect((await second.post("/lots", { code: "a" })).status).toBe(409);
    expect(await indexNames("lots", "code")).toHaveLength(1);
  });

  it("leaves no index that its change would have needed", async () => {
    await codes("bits", false);
    const { asleep } = sleepAt(isNamed("createIndexes"));
    const late = setUnique(first, "bits", true);
    await asleep;
    await ended();
    wake();
    expect((await late).status).toBe(409);
    expect(await indexNames("bits", "code")).toEqual([]);
    await make(second, "bits", { code: "a" });
    await make(second, "bits", { code: "a" });
  });

  it("takes none away with its own that the same change has built since", async () => {
    await codes("parts", false);
    const { asleep } = sleepAt(isNamed("createIndexes"));
    const late = setUnique(first, "parts", true);
    await asleep;
    await ended();
    expect((await setUnique(second, "parts", true)).status).toBe(200);
    wake();
    expect((await late).status).toBe(409);
    expect(await indexNames("parts", "code")).toHaveLength(1);
    await make(second, "parts", { code: "a" });
    expect((await second.post("/parts", { code: "a" })).status).toBe(409);
  });

  it("gives no rule the names of a change that was taken back since", async () => {
    const columns = ["title", "secret"].map((name) => ({ name, type: "string" }));
    const { id } = await makeTable(second, { name: "notes", columns });
    await make(second, "notes", { title: "open", secret: "SECRET" });
    await make(second, "svc_permission", { role: null, table: "notes", action: "read", fields: "title" });
    const swap = async (api: Api): Promise<Answer> => {
      const now = await tableNamed(api, "notes");
      const swapped = now.columns.map((each: Row) => ({
        ...each,
        name: each.name === "title" ? "secret" : "title",
      }));
      return api.patch(`/svc_table/${id}`, { columns: swapped });
    };
    const [isUpdate, ofRules] = [isNamed("\u0002update"), isNamed("svc_permission")];
    const { asleep } = sleepAt((command) => isUpdate(command) && ofRules(command));
    const late = swap(first);
    await asleep;
    await ended();
    expect((await swap(second)).status).toBe(200);
    wake();
    expect((await late).status).toBe(200);
    const rule = await db.collection("svc_permission").findOne({ table: "notes" });
    expect(rule?.fields).toBe("title");
    const [shown] = (await apiOf(quick.dataUrl).get("/notes", { fields: "*" })).body.data;
    expect(JSON.stringify(shown)).not.toContain("SECRET");
  });

  it("leaves rules alone that were written by the new names since, when another one ends its change", async () => {
    const columns = ["title", "secret"].map((name) => ({ name, type: "string", searchable: true }));
    const { id, columns: made } = await makeTable(second, { name: "papers", columns });
    await make(second, "papers", { title: "open", secret: "SECRET" });
    const swapped = made.map((each: Row) => ({
      id: each.id,
      name: each.name === "title" ? "secret" : "title",
      searchable: false,
    }));
    // Once rules follow, while what was stored for searching is taken away; it may just be filled in for the new table.
    const { asleep } = sleepAt((command) => command.includes("_g_title") && command.includes("$unset"));
    const late = first.patch(`/svc_table/${id}`, { columns: swapped });
    await asleep;
    const rule = { role: null, table: "papers", action: "read", fields: "title" };
    expect((await second.post("/svc_permission", rule)).status).toBe(201);
    await ended();
    const stored = await db.collection("svc_permission").findOne({ table: "papers" });
    expect(stored?.fields).toBe("title");
    wake();
    expect((await late).status).toBe(200);
    const [shown] = (await apiOf(quick.dataUrl).get("/papers", { fields: "*" })).body.data;
    expect(shown).toMatchObject({ title: "SECRET" });
    expect(JSON.stringify(shown)).not.toContain("open");
  });
});
