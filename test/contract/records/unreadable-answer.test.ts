// A write is answered as done when it is done, even where what is there can't be read for the answer.
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
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

test("a change is answered as it is read afterwards, with what another program has stored", async () => {
  const { id } = (await root.post("/notes", { title: "third" })).body.data[0];
  const farAway = { $set: { at: { $add: [new Date(0), Number.MAX_SAFE_INTEGER] } } };
  await client.db().collection("notes").updateOne({ title: "third" }, [farAway]);
  const changed = await root.patch(`/notes/${id}`, { title: "fourth" });
  const read = await root.get(`/notes/${id}`);
  expect([changed.status, changed.body.data]).toEqual([200, read.body.data]);
  expect(changed.headers.get("etag")).toBe(read.headers.get("etag"));
});
