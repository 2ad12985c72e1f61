// A delete of which nobody knows whether the database has heard of it: it is judged before it is done, whoever ends it.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Db } from "mongodb";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import { type BehindProxy, startBehindProxy } from "../../support/behind-proxy.js";
import { type CommandProxy, type Fate, isCommand } from "../../support/command-proxy.js";
import { REPAIRING_OFTEN } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, read } from "./make.js";

/** Several times as long as from one look for what was left to the next. */
const LOOKED_FOR_MS = 2_000;

let held: BehindProxy;
let proxy: CommandProxy;
let admin: Api;
let db: Db;

beforeAll(async () => {
  held = await startBehindProxy(undefined, REPAIRING_OFTEN);
  ({ proxy, db } = held);
  admin = await asAdmin(held.stack);
  const columns = [{ name: "name", type: "string" }];
  const of = (onDelete: string) => [{ name: "of", type: "many-to-one", table: "ships", onDelete }];
  await makeTable(admin, { name: "ships", columns });
  await makeTable(admin, { name: "sailors", columns, relations: of("CASCADE") });
  await makeTable(admin, { name: "boats", columns, softDelete: true });
  const inBoat = [{ name: "of", type: "many-to-one", table: "boats", onDelete: "CASCADE" }];
  await makeTable(admin, { name: "oars", columns, softDelete: true, relations: inBoat });
});

afterAll(() => held?.stop());

const removeAt = (tag: string, path: string): Promise<Answer> =>
  admin.send("DELETE", path, { headers: { "If-Match": tag } });

/** As if a minute had passed since the notes of deletes were written; resolves when they are worked off. */
async function repaired(): Promise<void> {
  const notes = db.collection("_deletes");
  await notes.updateMany({}, { $set: { at: new Date(Date.now() - 300_000) } });
  // What is done is looked at once more later.
  await until(
    () => notes.countDocuments({ done: false }),
    (count) => count === 0,
  );
}

/** The database goes at the first command that `when` is said of, and stays away until nothing can be taken back. */
function breakAt(fate: Fate, when: (command: string) => boolean): void {
  let isBroken = false;
  proxy.decide((command) => {
    if (isBroken) return "lost";
    isBroken = when(command);
    return isBroken ? fate : "pass";
  });
}

const isClaim = (command: string): boolean =>
  command.includes("\u0002update\u0000") && command.includes("_leaving_for");

interface Ship {
  readonly id: string;
  readonly path: string;
  readonly tag: string;
}

async function ship(): Promise<Ship> {
  const { id } = await make(admin, "ships", { name: "Hope" });
  const path = `/ships/${id}`;
  const { headers } = await admin.get(path);
  return { id, path, tag: headers.get("etag") ?? "none" };
}

/** Deletes it while the database breaks off. */
async function unanswered(
  { path, tag }: Ship,
  fate: Fate,
  when: (command: string) => boolean,
): Promise<void> {
  breakAt(fate, when);
  expect((await removeAt(tag, path)).status).toBe(503);
  proxy.decide(() => "pass");
  await until(
    () => admin.get(path),
    ({ status }) => status !== 503,
    30_000,
  );
}

describe("a delete with If-Match whose judgement was not heard of", () => {
  it("is not done later to a record that others have changed since", async () => {
    const hope = await ship();
    await make(admin, "sailors", { name: "Ann", of: hope.id });
    await unanswered(hope, "lost", isClaim);
    expect((await admin.patch(hope.path, { name: "Faith" })).status).toBe(200);
    expect((await removeAt(hope.tag, hope.path)).status).toBe(412);
    await repaired();
    expect(await read(admin, "ships", hope.id)).toMatchObject({ name: "Faith" });
    expect((await admin.get("/sailors", { filter: { of: hope.id } })).body.data).toHaveLength(1);
  });

  it("is not done to one that goes alone either, and lets go of it", async () => {
    const hope = await ship();
    await unanswered(hope, "lost", isCommand("delete", "ships"));
    expect((await admin.patch(hope.path, { name: "Faith" })).status).toBe(200);
    await repaired();
    expect(await read(admin, "ships", hope.id)).toMatchObject({ name: "Faith" });
  });

  it("lets go of a record that it has marked, and that nobody could change meanwhile", async () => {
    const hope = await ship();
    await make(admin, "sailors", { name: "Ann", of: hope.id });
    await unanswered(hope, "answer lost", isClaim);
    expect((await admin.patch(hope.path, { name: "Faith" })).status).toBe(503);
    await repaired();
    expect((await admin.patch(hope.path, { name: "Faith" })).status).toBe(200);
  });
});

describe("a delete that takes longer than a minute", () => {
  it("is not taken for one that was left: what it has marked waits for it", async () => {
    const hope = await ship();
    await make(admin, "sailors", { name: "Ann", of: hope.id });
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const reached = new Promise<void>((resolve) => {
      proxy.decide(async (command): Promise<Fate> => {
        if (!isCommand("delete", "sailors")(command)) return "pass";
        resolve();
        await held;
        return "pass";
      });
    });
    const gone = removeAt(hope.tag, hope.path);
    await reached;
    const old = new Date(Date.now() - 300_000);
    await db.collection("_deletes").updateMany({ done: false }, { $set: { at: old } });
    await sleep(LOOKED_FOR_MS);
    const notes = await db.collection("_deletes").find({ done: false }).toArray();
    expect(new Set(notes.map(({ at }) => at.getTime()))).toEqual(new Set([old.getTime()]));
    goOn();
    expect((await gone).status).toBe(200);
    proxy.decide(() => "pass");
  });
});

describe("a delete that was judged and interrupted after that", () => {
  it("is ended, with all that goes along", async () => {
    const hope = await ship();
    await make(admin, "sailors", { name: "Ann", of: hope.id });
    await unanswered(hope, "lost", isCommand("delete", "sailors"));
    await repaired();
    expect((await admin.get(hope.path)).status).toBe(404);
    expect((await admin.get("/sailors", { filter: { of: hope.id } })).body.data).toHaveLength(0);
  });
});

const isDeleteOf =
  (collection: string) =>
  (command: string): boolean => {
    const length = String.fromCharCode(collection.length + 1);
    const named = `${length}\0\0\0${collection}\0`;
    const isMarked = command.includes(`\u0002update\0${named}`) && command.includes("_deletedAt");
    return command.includes(`\u0002delete\0${named}`) || (isMarked && command.includes("updatedAt"));
  };

describe.each([
  ["ships", "sailors"],
  ["boats", "oars"],
])("a delete of %s without a condition", (parents, children) => {
  async function laden(): Promise<string> {
    const { id } = await make(admin, parents, { name: "Hope" });
    await make(admin, children, { name: "Ann", of: id });
    return id;
  }

  async function interrupted(path: string, fate: Fate): Promise<void> {
    breakAt(fate, isDeleteOf(parents));
    expect((await admin.delete(path)).status).toBe(503);
    proxy.decide(() => "pass");
    await until(
      () => admin.get(path),
      ({ status }) => status !== 503,
      30_000,
    );
  }

  it("is ended when what goes along has gone, and it has not", async () => {
    const id = await laden();
    await interrupted(`/${parents}/${id}`, "lost");
    expect((await admin.get(`/${parents}/${id}`)).status).toBe(200);
    expect((await admin.get(`/${children}`, { filter: { of: id } })).body.data).toHaveLength(0);
    await repaired();
    expect((await admin.get(`/${parents}/${id}`)).status).toBe(404);
  });
});

describe("a delete that was interrupted", () => {
  it.each<[string, Fate]>([
    ["before", "lost"],
    ["after", "answer lost"],
  ])("%s the record went takes nothing away again that was restored since", async (_when, fate) => {
    const { id } = await make(admin, "boats", { name: "Hope" });
    const oar = await make(admin, "oars", { name: "left", of: id });
    breakAt(fate, isDeleteOf("boats"));
    expect((await admin.delete(`/boats/${id}`)).status).toBe(503);
    proxy.decide(() => "pass");
    const restored = () => admin.post(`/boats/${id}/restore`);
    expect((await until(restored, ({ status }) => status !== 503, 30_000)).status).toBe(200);
    await repaired();
    expect((await admin.get(`/boats/${id}`)).status).toBe(200);
    expect((await read(admin, "oars", oar.id, "of")).of).toEqual({ id });
  });
});
