// Tables are changed while a request of many steps runs: it goes on with the records that it meant, or says that it can't.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ObjectId } from "mongodb";
import { type Answer, type Api, asAdmin, signIn } from "../../support/api.js";
import {
  type BehindProxy,
  type QuickAndSlow,
  startBehindProxy,
  startQuickAndSlow,
} from "../../support/behind-proxy.js";
import { isCommand, isReadOf, nth, type Stopped, stopAt } from "../../support/command-proxy.js";
import { until } from "../../support/wait.js";
import { columnsWith, tableNamed } from "../tables/change.js";
import { filesOf } from "../transfer/files.js";
import { make, makeTable, type Row, read } from "./make.js";

let system: QuickAndSlow;
let api: Api;
let held: BehindProxy;
let slow: Api;
/** Another slow one, whose commands stop for themselves. */
let maker: BehindProxy;

beforeAll(async () => {
  system = await startQuickAndSlow();
  ({ api, held, slow } = system);
  maker = await startBehindProxy(held.stack);
});

afterAll(async () => {
  await maker?.stop();
  await system?.stop();
});

beforeEach(() => held.proxy.decide(() => "pass"));

const status = { name: "status", type: "string" };
const drafts = [1, 2, 3].map((id) => ({ id, status: "draft" }));

/** A table of three drafts. @returns its id */
async function madeDrafts(name: string): Promise<string> {
  const { id } = await makeTable(api, { name, idType: "int", columns: [status] });
  await api.post(`/${name}`, drafts);
  return id;
}

const rename = async (id: string, name: string): Promise<void> =>
  void expect((await api.patch(`/svc_table/${id}`, { name })).status).toBe(200);

describe("a request for all drafts that has begun", () => {
  const filter = encodeURIComponent('{"status":"draft"}');

  /** It stops when it is about to read which records are drafts: a `getMore` names its collection so. */
  const begun = (table: string, send: (path: string) => Promise<Answer>): Promise<Stopped<Answer>> =>
    stopAt(held.proxy, isCommand("collection", table), () => send(`/${table}?filter=${filter}`));

  it.each<[string, (path: string) => Promise<Answer>]>([
    ["deletes", (path) => slow.delete(path)],
    ["changes", (path) => slow.patch(path, { status: "gone" })],
  ])("%s no record that is none any more, though its column is another one meanwhile", async (does, send) => {
    const table = `posts_${does}`;
    const id = await madeDrafts(table);
    const request = await begun(table, send);
    const values = { type: "enum", options: { values: ["draft", "public", "gone"] } };
    const columns = columnsWith(await tableNamed(api, table), "status", values);
    expect((await api.patch(`/svc_table/${id}`, { columns })).status).toBe(200);
    expect((await api.patch(`/${table}/2`, { status: "public" })).status).toBe(200);
    request.goOn();
    const { status, body } = await request.answer;
    expect([status, body.meta]).toEqual([200, { matched: 2, changed: 2 }]);
    expect(await read(api, table, "2", "status")).toMatchObject({ status: "public" });
  });

  it("deletes nothing of another table that has got the name", async () => {
    const [former, next] = [await madeDrafts("pages"), await madeDrafts("pages_new")];
    const request = await begun("pages", (path) => slow.delete(path));
    await rename(former, "pages_old");
    await rename(next, "pages");
    request.goOn();
    const { status, body } = await request.answer;
    expect([status, body.message]).toEqual([
      409,
      '"pages" is no longer the table that this request began with; 0 records were deleted before',
    ]);
    for (const table of ["pages", "pages_old"]) expect((await api.get(`/${table}`)).body.data.length).toBe(3);
  });

  it.each<[string, string, (path: string) => Promise<Answer>]>([
    ["its columns", "changed", (path) => slow.patch(path, { status: "gone" })],
    ["new records for it", "changed", (path) => slow.patch(path, { status: "gone", label: { text: "new" } })],
    ["what it keeps", "deleted", (path) => slow.delete(`${path}&permanent=true`)],
  ])("touches nothing of another one that has got the name and lacks %s", async (lacking, done, send) => {
    const table = `shapes_${lacking.replaceAll(" ", "_")}`;
    const labels = `${table}_labels`;
    await makeTable(api, { name: labels, columns: [{ name: "text", type: "string" }] });
    const relations = [{ name: "label", type: "many-to-one", table: labels, inverse: null }];
    const given = { name: table, idType: "int", columns: [status], relations, softDelete: true };
    const { id: former } = await makeTable(api, given);
    await api.post(`/${table}`, drafts);
    const { id: next } = await makeTable(api, { name: `${table}_new`, columns: [], relations });
    const request = await begun(table, send);
    await rename(former, `${table}_old`);
    await rename(next, table);
    request.goOn();
    const answer = await request.answer;
    const told = `"${table}" is no longer the table that this request began with; 0 records were ${done} before`;
    expect([answer.status, answer.body.message, answer.body.error?.details]).toEqual([
      409,
      told,
      { changed: 0 },
    ]);
    expect((await api.get(`/${table}_old`, { filter: { status: "draft" } })).body.data.length).toBe(3);
    expect((await api.get(`/${labels}`)).body.data).toEqual([]);
  });

  const swapped = async (table: string, one: string, other: string): Promise<void> => {
    const { id, columns } = await tableNamed(api, table);
    const nameOf = new Map([
      [one, other],
      [other, one],
    ]);
    const body = {
      columns: columns.map((each: Row) => ({ id: each.id, name: nameOf.get(each.name) ?? each.name })),
    };
    expect((await api.patch(`/svc_table/${id}`, body)).status).toBe(200);
  };
  const passed = (table: string, done: string): string =>
    `In "${table}" a name has passed from one column to another since this request began; 0 records were ${done} before`;

  it.each<[string, (path: string) => Promise<Answer>]>([
    ["deleted", (path) => slow.delete(path)],
    ["changed", (path) => slow.patch(path, { status: "gone" })],
  ])("is told that the name of a column has passed to another one: nothing is %s", async (done, send) => {
    const table = `swapped_${done}`;
    await makeTable(api, {
      name: table,
      idType: "int",
      columns: [status, { name: "former", type: "string" }],
    });
    const both = drafts.map((each) => ({ ...each, former: "draft" }));
    await api.post(`/${table}`, both);
    const request = await begun(table, send);
    await swapped(table, "status", "former");
    request.goOn();
    const answer = await request.answer;
    expect([answer.status, answer.body.message]).toEqual([409, passed(table, done)]);
    expect(answer.body.error?.details).toEqual({ changed: 0 });
    expect((await api.get(`/${table}`, { fields: "id,status,former" })).body.data).toEqual(both);
  });

  it("is told that the name of a column has passed to another one in a table that its filter goes through", async () => {
    const columns = ["spam", "vip"].map((name) => ({ name, type: "boolean" }));
    await makeTable(api, { name: "senders", idType: "int", columns });
    const relations = [{ name: "sender", type: "many-to-one", table: "senders", inverse: null }];
    await makeTable(api, { name: "mails", idType: "int", columns: [status], relations });
    await api.post("/senders", { id: 1, spam: true, vip: false });
    await api.post("/mails", [{ id: 1, sender: 1 }]);
    const path = `/mails?filter=${encodeURIComponent('{"sender":{"spam":true}}')}`;
    const request = await stopAt(held.proxy, isCommand("collection", "mails"), () => slow.delete(path));
    await swapped("senders", "spam", "vip");
    request.goOn();
    const { status: answered, body } = await request.answer;
    expect([answered, body.message]).toEqual([409, passed("senders", "deleted")]);
    expect((await api.get("/mails")).body.data.length).toBe(1);
  });

  it("makes no new records where a name in them has passed to another column", async () => {
    const columns = ["text", "note"].map((name) => ({ name, type: "string" }));
    await makeTable(api, { name: "marks", columns });
    const relations = [{ name: "mark", type: "many-to-one", table: "marks", inverse: null }];
    await makeTable(api, { name: "marked", idType: "int", columns: [status], relations });
    await api.post("/marked", drafts);
    const request = await begun("marked", (path) => slow.patch(path, { mark: { text: "new" } }));
    await swapped("marks", "text", "note");
    request.goOn();
    const { status: answered, body } = await request.answer;
    expect([answered, body.message]).toEqual([409, passed("marks", "changed")]);
    expect((await api.get("/marks")).body.data).toEqual([]);
  });

  it.each<[string, (ann: Api, path: string) => Promise<Answer>]>([
    ["deleted", (ann, path) => ann.delete(path)],
    ["changed", (ann, path) => ann.patch(path, { status: "gone" })],
  ])("is told that its caller may not read any more: nothing is %s", async (done, send) => {
    const table = `secrets_${done}`;
    await madeDrafts(table);
    const ann = { email: `${done}@example.com`, password: "ann's password" };
    const { id: role } = await make(api, "svc_role", { name: done });
    await make(api, "svc_user", { ...ann, role });
    const mayRead = await make(api, "svc_permission", { role, table, action: "read" });
    for (const action of ["update", "delete"]) await make(api, "svc_permission", { role, table, action });
    const asAnn = await signIn(`${held.stack.appUrl}/api`, ann);
    const request = await begun(table, (path) => send(asAnn, path));
    await api.delete(`/svc_permission/${mayRead.id}`);
    await until(
      () => asAnn.get(`/${table}`),
      (answer) => answer.status === 403,
    );
    request.goOn();
    const { status, body } = await request.answer;
    const told = `You may not read "${table}"; 0 records were ${done} before`;
    expect([status, body.message, body.error?.details]).toEqual([403, told, { changed: 0 }]);
    expect((await api.get(`/${table}`, { filter: { status: "draft" } })).body.data.length).toBe(3);
  });

  it.each<[string, (path: string) => Promise<Answer>]>([
    ["deleted", (path) => slow.delete(path)],
    ["changed", (path) => slow.patch(path, { status: "gone" })],
  ])("is told that its table has no such name any more: nothing is %s", async (done, send) => {
    const table = `notes_${done}`;
    const id = await madeDrafts(table);
    const request = await begun(table, send);
    await rename(id, `${table}_old`);
    request.goOn();
    const { status, body } = await request.answer;
    const told = `There is no table "${table}"; 0 records were ${done} before`;
    expect([status, body.message, body.error?.details]).toEqual([404, told, { changed: 0 }]);
    expect((await api.get(`/${table}_old`, { filter: { status: "draft" } })).body.data.length).toBe(3);
  });
});

it("new records that would set links of one of those that match wait for a table that is being changed meanwhile", async () => {
  await makeTable(api, { name: "lists", columns: [{ name: "name", type: "string" }] });
  const list = { name: "list", type: "many-to-one", table: "lists", inverse: "items" };
  const { id: table } = await makeTable(api, {
    name: "items",
    idType: "int",
    columns: [status],
    relations: [list],
  });
  await api.post("/items", drafts);
  const body = { list: { name: "new", items: [2] } };
  const request = await stopAt(held.proxy, isReadOf("items"), () =>
    slow.patch("/items", body, { filter: { status: "draft" } }),
  );
  const instances = held.db.collection<{ _id: string; version: number }>("_instances");
  const versions = held.db.collection<{ _id: string; version: number }>("_versions");
  const elsewhere = { $set: { version: 1_000_000 }, $currentDate: { at: true as const } };
  await instances.updateOne({ _id: "elsewhere" }, elsewhere, { upsert: true });
  const lock = { change: new ObjectId(), instance: "elsewhere" };
  const began = { $set: { lock, changing: [table] }, $inc: { version: 1 } };
  const state = await versions.findOneAndUpdate({ _id: "catalog" }, began, { returnDocument: "after" });
  await until(
    () => instances.countDocuments({ version: { $lt: state?.version ?? 0 } }),
    (behind) => behind === 0,
  );
  request.goOn();
  const isWaiting = await Promise.race([request.answer, delay(500, "waiting")]);
  await versions.updateOne({ _id: "catalog" }, { $unset: { lock: "", changing: "" }, $inc: { version: 1 } });
  await instances.deleteOne({ _id: "elsewhere" });
  const answer = await request.answer;
  expect(answer.body.message).toEqual([
    expect.stringMatching(/^list\.items: holds the record that is changed/),
  ]);
  expect([isWaiting, answer.status]).toEqual(["waiting", 400]);
});

/** Of whoever asks which instances still work by an earlier number. */
const asksWhoIsBehind = (command: string): boolean =>
  isReadOf("_instances")(command) && command.includes("$lt");

it("a new table waits for the deletes that know nothing of its links", async () => {
  const admin = await asAdmin(maker.stack);
  await makeTable(api, { name: "parents", columns: [{ name: "name", type: "string" }] });
  const { id } = (await api.post("/parents", { name: "going" })).body.data[0];
  const going = await stopAt(held.proxy, isCommand("delete", "parents"), () => slow.delete(`/parents/${id}`));
  const parent = { name: "parent", type: "many-to-one", table: "parents", onDelete: "RESTRICT" };
  const waiting = await stopAt(maker.proxy, nth(3, asksWhoIsBehind), () =>
    admin.post("/svc_table", { name: "children", columns: [], relations: [parent] }),
  );
  expect(await tableNamed(api, "children")).toBeDefined();
  waiting.goOn();
  going.goOn();
  expect([(await going.answer).status, (await waiting.answer).status]).toEqual([200, 201]);
});

it.each([
  ["that nothing else links to", false],
  ["that others link to", true],
])(
  "a delete %s and that takes longer than that lets go of the links of the new table",
  async (_which, others) => {
    const [table, children] = [`olds_${others}`, `news_${others}`];
    await makeTable(api, { name: table, columns: [{ name: "name", type: "string" }] });
    const to = (onDelete: string) => ({ name: "old", type: "many-to-one", table, onDelete });
    if (others) await makeTable(api, { name: `others_${others}`, columns: [], relations: [to("CASCADE")] });
    const { id } = (await api.post(`/${table}`, { name: "going" })).body.data[0];
    const going = await stopAt(held.proxy, isCommand("delete", table), () => slow.delete(`/${table}/${id}`));
    await makeTable(api, { name: children, columns: [], relations: [to("RESTRICT")] });
    const child = (await api.post(`/${children}`, { old: id })).body.data[0];
    going.goOn();
    expect((await going.answer).status).toBe(200);
    expect((await held.db.collection(children).findOne())?.oldId ?? null).toBe(null);
    expect(await read(api, children, child.id, "old")).toEqual({ old: null });
  },
);

it("an import makes no records in another table that has got the name", async () => {
  const columns = [{ name: "text", type: "string" }];
  const [former, next] = [
    (await makeTable(api, { name: "lines", columns })).id,
    (await makeTable(api, { name: "lines_new", columns })).id,
  ];
  const lines = new TextEncoder().encode(`${JSON.stringify({ text: "line" })}\n`.repeat(600));
  const count = (table: string) => held.db.collection(table).countDocuments();
  const renamed = async (): Promise<void> => {
    await until(
      () => count("lines"),
      (there) => there >= 500,
    );
    await rename(former, "lines_old");
    await rename(next, "lines");
  };
  let isSent = false;
  const file = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (isSent) await renamed();
      controller.enqueue(lines);
      if (isSent) controller.close();
      isSent = true;
    },
  });
  const files = await filesOf(held.stack, held.stack.admin);
  const { status } = await files.ndjson("lines", file);
  expect([status, await count("lines"), await count("lines_new")]).toEqual([409, 500, 0]);
});
