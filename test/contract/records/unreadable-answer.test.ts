// A write is answered as done when it is done, even where what is there can't be read for the answer.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { Binary, MongoClient } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";

jest.setTimeout(60_000);

let stack: Stack;
let root: Api;
let client: MongoClient;
beforeAll(async () => {
  stack = await startStack();
  root = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
  const columns = [
    { name: "title", type: "string" },
    { name: "pin", type: "string", encrypted: true },
    { name: "at", type: "datetime" },
  ];
  await root.post("/svc_table", { name: "notes", columns });
});
afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

test("a record with a value that no key of ours opens is changed, and answered with its id", async () => {
  const { id } = (await root.post("/notes", { title: "first", pin: "1234" })).body.data[0];
  const notes = client.db().collection("notes");
  await notes.updateOne({ title: "first" }, { $set: { pin: new Binary(Buffer.alloc(60, 1)) } });
  const { status, headers, body } = await root.patch(`/notes/${id}`, { title: "second" });
  expect([status, body.data]).toEqual([200, [{ id }]]);
  const said = `"correlationId":"${headers.get("x-correlation-id")}","err":`;
  await until(stack.dataService.log, (log) => log.includes(said));
  expect(await notes.countDocuments({ title: "second" })).toBe(1);
});

test("a list with such a value fails, and names the column and the record", async () => {
  const { id } = (await root.post("/notes", { title: "lost", pin: "1234" })).body.data[0];
  const notes = client.db().collection("notes");
  await notes.updateOne({ title: "lost" }, { $set: { pin: new Binary(Buffer.alloc(60, 1)) } });
  const filter = { title: "lost" };
  const { status, body } = await root.get("/notes", { filter });
  expect([status, body.message, body.error.code]).toEqual([
    500,
    `pin: the value of the record ${id} of "notes" can't be decrypted`,
    "INTERNAL_ERROR",
  ]);
  expect((await root.get("/notes", { filter, fields: "-pin" })).status).toBe(200);
});

describe("what a key sealed that is lost", () => {
  const filter = { title: "sealed" };
  let id: string;
  let table: string;
  beforeAll(async () => {
    const columns = [
      { name: "title", type: "string" },
      { name: "pin", type: "string", encrypted: true },
    ];
    const made = await root.post("/svc_table", { name: "letters", history: true, columns });
    table = `/svc_table/${made.body.data[0].id}`;
    id = (await root.post("/letters", { title: "sealed", pin: "1234" })).body.data[0].id;
    const sealed = { pin: new Binary(Buffer.alloc(60, 1)) };
    await client.db().collection("letters").updateOne(filter, { $set: sealed });
  });

  test("does not keep a history from being read, which never shows it", async () => {
    const { status, body } = await root.get(`/letters/${id}/history`);
    expect([status, body.message, body.data]).toMatchObject([200, "Success", [{ event: "created" }]]);
  });

  test("keeps its column from being decrypted, and the refusal says where it is", async () => {
    const { body: before } = await root.get(table);
    const [title, pin] = before.data[0].columns;
    const { status, body } = await root.patch(table, { columns: [title, { ...pin, encrypted: false }] });
    expect([status, body.message]).toEqual([
      409,
      `pin: the value of the record ${id} of "letters" can't be decrypted; if its ENCRYPTION_KEY is lost, write another value or null there first, or remove the column`,
    ]);
  });

  test("is given up by a change of all such records, and then all can be read", async () => {
    const given = await root.patch("/letters", { pin: null }, { filter });
    expect([given.status, given.body.message]).toEqual([200, "Success"]);
    expect((await root.get("/letters", { fields: "title,pin" })).body.data).toEqual([
      { title: "sealed", pin: null },
    ]);
  });
});

test("a change is answered as it is read afterwards, with what another program has stored", async () => {
  const { id } = (await root.post("/notes", { title: "third" })).body.data[0];
  const farAway = { $set: { at: { $add: [new Date(0), Number.MAX_SAFE_INTEGER] } } };
  await client.db().collection("notes").updateOne({ title: "third" }, [farAway]);
  const changed = await root.patch(`/notes/${id}`, { title: "fourth" });
  const read = await root.get(`/notes/${id}`);
  expect([changed.status, changed.body.data]).toEqual([200, read.body.data]);
  expect(changed.headers.get("etag")).toBe(read.headers.get("etag"));
});
