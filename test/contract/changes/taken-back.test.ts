// Records of a request that is refused halfway, which others have read or told of before they were gone again: it is told that
// they went.
import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import type { Db } from "mongodb";
import { type Answer, type Api, asAdmin } from "../../support/api.js";
import {
  type BehindProxy,
  type QuickAndSlow,
  startBehindProxy,
  startQuickAndSlow,
} from "../../support/behind-proxy.js";
import {
  afterWrites,
  goingOn,
  isCommand,
  isReadOf,
  type Stopped,
  stopAt,
} from "../../support/command-proxy.js";
import { CHANGES, type EventSource, openEvents } from "../../support/event-source.js";
import { allowAll } from "../../support/rules.js";
import { REPAIRING_OFTEN } from "../../support/stack.js";
import { make, makeTable, type Row } from "../records/make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let slow: Api;
let source: EventSource | undefined;

beforeAll(async () => {
  system = await startQuickAndSlow(REPAIRING_OFTEN);
  ({ api, held, slow } = system);
  const columns = [
    { name: "name", type: "string" },
    { name: "code", type: "string", unique: true },
  ];
  await makeTable(api, { name: "shows", columns, changes: true, history: true });
  const show = { name: "show", type: "many-to-one", table: "shows", inverse: "tickets" };
  await makeTable(api, { name: "tickets", columns, relations: [show] });
  await allowAll(api, ["shows", "tickets"], null);
  await make(api, "shows", { code: "taken" });
});

beforeEach(() => {
  source?.close();
  held.proxy.decide(() => "pass");
});

afterAll(async () => {
  source?.close();
  await system?.stop();
});

/** A list that is refused for its last record, and has not yet taken back its first. @param query of who follows */
async function refusedHalfway(
  name: string,
  query = "",
): Promise<Stopped<Answer> & { readonly first: string }> {
  source = await openEvents(`${held.stack.dataUrl}/shows/changes${query}`);
  const list = [{ name }, { name: "last", code: "taken" }];
  const refused = await stopAt(held.proxy, isCommand("delete", "shows"), () => slow.post("/shows", list));
  const [first] = (await api.get("/shows", { filter: { name } })).body.data;
  return { ...refused, first: first.id };
}

/** What is told of a record, to followers and in its history, once something later is told. */
async function toldOf(id: string): Promise<Row> {
  const later = await make(api, "shows", { name: "later" });
  const told = async (count: number): Promise<Row[]> => [...((await source?.first(count, ...CHANGES)) ?? [])];
  let all = await told(1);
  while (!all.some(({ data }) => data.id === later.id)) all = await told(all.length + 1);
  const { body } = await api.get(`/shows/${id}/history`);
  return {
    events: all.filter(({ data }) => data.id === id).map(({ event }) => event),
    history: (body.data ?? []).map(({ event, revision }: Row) => `${event} ${revision}`),
  };
}

/** As if a minute had passed since an instance was killed. */
async function takenForDead(db: Db): Promise<void> {
  const announced = db.collection("_journal_pending");
  const names = await announced.distinct("instance");
  await announced.updateMany({}, { $set: { at: new Date(Date.now() - 60_000) } });
  await db.collection<{ _id: string }>("_instances").deleteMany({ _id: { $in: names } });
}

it("tells whoever may have listed them that they are gone, and keeps nothing of them", async () => {
  const { first, goOn, answer } = await refusedHalfway("listed");
  goOn();
  expect((await answer).status).toBe(409);
  expect(await toldOf(first)).toEqual({ events: ["deleted"], history: [] });
  const gone = source?.told.filter(({ event }) => event === "deleted");
  expect(gone?.map(({ data }) => data)).toEqual([
    { event: "deleted", id: first, revision: 1, at: expect.any(String) },
  ]);
});

it.each([
  ["what matches", { name: { _in: ["filtered", "later"] } }, ["deleted"]],
  ["nothing of what does not match", { name: "later" }, []],
])("tells who asked for some of them %s", async (_which, filter, events) => {
  const query = `?filter=${encodeURIComponent(JSON.stringify(filter))}`;
  const { first, goOn, answer } = await refusedHalfway("filtered", query);
  goOn();
  expect((await answer).status).toBe(409);
  expect((await toldOf(first)).events).toEqual(events);
});

it("tells who asked for what links to them to load anew", async () => {
  const filter = JSON.stringify({ tickets: { name: "any" } });
  const { goOn, answer } = await refusedHalfway("linked", `?filter=${encodeURIComponent(filter)}`);
  goOn();
  expect((await answer).status).toBe(409);
  expect(await source?.first(1, "reset", ...CHANGES)).toMatchObject([{ event: "reset" }]);
});

it("tells so where the process dies before it could", async () => {
  const dying = await startBehindProxy(held.stack);
  try {
    source = await openEvents(`${held.stack.dataUrl}/shows/changes`);
    const maker = await asAdmin(dying.stack);
    const list = [{ name: "dying" }, { code: "taken" }];
    const refused = await stopAt(dying.proxy, isCommand("delete", "shows"), () =>
      maker.post("/shows", list).catch(() => undefined),
    );
    const [{ id }] = (await api.get("/shows", { filter: { name: "dying" } })).body.data;
    await goingOn(dying.proxy, isReadOf("_journal"), refused);
    expect((await api.get(`/shows/${id}`)).status).toBe(404);
    dying.stack.dataService.process.kill("SIGKILL");
    await refused.answer;
    await takenForDead(dying.db);
    expect(await source.first(1, ...CHANGES)).toMatchObject([{ event: "deleted", data: { id } }]);
  } finally {
    await dying.stop();
  }
});

const both = { events: ["created", "deleted"], history: ["deleted 2", "created 1"] };

it("tells so where they were told of before", async () => {
  const { first, goOn, answer } = await refusedHalfway("before");
  expect((await api.patch(`/shows/${first}`, { code: "taken" })).status).toBe(409);
  goOn();
  expect((await answer).status).toBe(409);
  expect(await toldOf(first)).toEqual(both);
});

it("tells so once more where their making is told of afterwards", async () => {
  const other = await startBehindProxy(held.stack);
  try {
    const { first, goOn, answer } = await refusedHalfway("afterwards");
    const teller = await asAdmin(other.stack);
    const telling = await stopAt(other.proxy, isCommand("insert", "_journal"), () =>
      teller.patch(`/shows/${first}`, { name: "other" }),
    );
    goOn();
    expect((await answer).status).toBe(409);
    telling.goOn();
    expect((await telling.answer).status).toBe(404);
    expect(await toldOf(first)).toEqual({ ...both, events: ["deleted", ...both.events] });
  } finally {
    await other.stop();
  }
});

it("keeps their end where their making is told before that is, which comes too late for whoever has told of it", async () => {
  const other = await startBehindProxy(held.stack);
  try {
    const isTelling = isCommand("insert", "_journal");
    const { first, ...refused } = await refusedHalfway("meanwhile");
    const teller = await asAdmin(other.stack);
    const telling = await stopAt(other.proxy, isTelling, () =>
      teller.patch(`/shows/${first}`, { name: "other" }),
    );
    const ending = await goingOn(held.proxy, isTelling, refused);
    telling.goOn();
    expect((await telling.answer).status).toBe(404);
    ending.goOn();
    expect((await ending.answer).status).toBe(409);
    expect(await toldOf(first)).toEqual({ ...both, events: [...both.events, "deleted"] });
  } finally {
    await other.stop();
  }
});

it("tells nothing more of one that others have changed before it was taken back", async () => {
  const { first, goOn, answer } = await refusedHalfway("changed");
  expect((await api.patch(`/shows/${first}`, { name: "other" })).status).toBe(200);
  goOn();
  expect((await answer).status).toBe(409);
  expect(await toldOf(first)).toEqual({
    events: ["created", "updated", "deleted"],
    history: ["deleted 3", "updated 2", "created 1"],
  });
});

it("tells so of the record around one that is refused when it is written", async () => {
  source = await openEvents(`${held.stack.dataUrl}/shows/changes`);
  const show = { name: "around", tickets: [{ code: "late" }] };
  const { answer, goOn } = await stopAt(held.proxy, isCommand("insert", "tickets"), () =>
    slow.post("/shows", show),
  );
  const [{ id }] = (await api.get("/shows", { filter: { name: "around" } })).body.data;
  await make(api, "tickets", { code: "late" });
  goOn();
  expect((await answer).status).toBe(409);
  expect((await api.get(`/shows/${id}`)).status).toBe(404);
  expect(await toldOf(id)).toEqual(both);
});

it("tells once of a record that somebody deletes while others find its making still announced, and by whom", async () => {
  const other = await startBehindProxy(held.stack);
  try {
    source = await openEvents(`${held.stack.dataUrl}/shows/changes`);
    const [announced, journal] = ["_journal_pending", "_journal"];
    const made = await stopAt(held.proxy, isCommand("delete", announced), () => make(slow, "shows", {}));
    const { id } = await made.answer;
    const patcher = await asAdmin(other.stack);
    const isAsked = (command: string) => isCommand("find", announced)(command) && command.includes("$in");
    const patched = await stopAt(other.proxy, isAsked, () =>
      patcher.patch(`/shows/${id}`, { name: "other" }),
    );
    const deleted = await stopAt(held.proxy, isCommand("insert", journal), () => slow.delete(`/shows/${id}`));
    patched.goOn();
    expect((await patched.answer).status).toBe(404);
    deleted.goOn();
    expect((await deleted.answer).status).toBe(200);
    made.goOn();
    expect(await toldOf(id)).toEqual(both);
    const { body } = await api.get(`/shows/${id}/history`);
    expect(body.data.map(({ by }: Row) => by)).toEqual([expect.any(String), expect.any(String)]);
  } finally {
    await other.stop();
  }
});

it("leaves that to whoever deletes it, where it is gone when its making has just been told by another", async () => {
  const [other, third] = [await startBehindProxy(held.stack), await startBehindProxy(held.stack)];
  try {
    source = await openEvents(`${held.stack.dataUrl}/shows/changes`);
    const isTelling = isCommand("insert", "_journal");
    const made = await stopAt(held.proxy, isTelling, () => make(slow, "shows", { name: "untold" }));
    const [{ id }] = (await api.get("/shows", { filter: { name: "untold" } })).body.data;
    const [patcher, remover] = [await asAdmin(other.stack), await asAdmin(third.stack)];
    const patched = await stopAt(other.proxy, afterWrites(isTelling, isReadOf("shows")), () =>
      patcher.patch(`/shows/${id}`, { name: "other" }),
    );
    const deleted = await stopAt(third.proxy, isTelling, () => remover.delete(`/shows/${id}`));
    // It looks, finds the record gone, and waits for what is announced.
    const looking = await stopAt(other.proxy, isCommand("find", "_journal_pending"), async () => {
      patched.goOn();
      return patched.answer;
    });
    deleted.goOn();
    expect((await deleted.answer).status).toBe(200);
    looking.goOn();
    expect((await patched.answer).status).toBe(404);
    made.goOn();
    await made.answer;
    expect(await toldOf(id)).toEqual(both);
    const { body } = await api.get(`/shows/${id}/history`);
    expect(body.data.map(({ by }: Row) => by)).toEqual([expect.any(String), expect.any(String)]);
  } finally {
    await other.stop();
    await third.stop();
  }
});
