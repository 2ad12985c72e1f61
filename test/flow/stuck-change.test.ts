// An interrupted change of a table that can't be taken back: everything but that table is served and repaired as ever.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Collection, type Db, MongoClient, ObjectId } from "mongodb";
import { type Api, asAdmin } from "../support/api.js";
import { startEngine, stopEngine } from "../support/engine-of-run.js";
import { type Stack, startStack } from "../support/stack.js";

let directory: string;
let stack: Stack;
let admin: Api;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "portico-stuck-change-"));
  stack = await startStack({ mongodbUrl: `mongodb_embedded://${directory}/mongodb` });
  admin = await asAdmin(stack);
  const columns = [{ name: "email", type: "string", unique: true }];
  await admin.post("/svc_table", { name: "members", columns });
  await admin.post("/svc_table", { name: "letters", columns: [{ name: "text", type: "string" }] });
  await admin.post("/members", [{ email: "a@example.com" }, { email: "b@example.com" }]);
  await admin.post("/letters", [{ text: "whole" }, { text: "half" }]);
});

afterAll(async () => {
  await stack?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Does something with the database between two lives of the data service. */
async function betweenLives(change: (db: Db) => Promise<void>): Promise<void> {
  await stack.dataService.stop();
  const engine = await startEngine(join(directory, "mongodb"));
  const client = await MongoClient.connect(engine.uri);
  await change(client.db("portico"));
  await client.close();
  await stopEngine(engine);
  await stack.restartDataService();
}

interface StoredTable {
  readonly _id: ObjectId;
  readonly name: string;
}

const tableNamed = async (db: Db, name: string): Promise<StoredTable> => {
  const found = await db.collection<StoredTable>("svc_table").findOne({ name });
  if (found === null) throw new Error(`no table ${name}`);
  return found;
};

/** What a kill leaves between the drop of the old index of `softDelete` and the publishing. */
async function interruptSoftDelete(db: Db): Promise<void> {
  const { _id, ...definition } = await tableNamed(db, "members");
  const [id, change] = [_id.toHexString(), new ObjectId()];
  const times = ["createdAt", "updatedAt"];
  const before = Object.fromEntries(
    Object.entries({ id, ...definition }).filter(([name]) => !times.includes(name)),
  );
  await db.collection("_changes").insertOne({
    _id: change,
    table: id,
    before: [before],
    after: [{ ...before, softDelete: true }],
    targets: {},
    removed: [],
    undoable: false,
    undoes: null,
    at: new Date(),
    state: "preparing",
  });
  const held = { lock: { change, instance: "gone" }, changing: [id] };
  const versions = db.collection<{ _id: string }>("_versions");
  await versions.updateOne({ _id: "catalog" }, { $set: held, $inc: { version: 1 } });
  await db.collection("members").dropIndex("email_1");
}

/** A collection has 64 indexes at most. */
async function takeAllRoom(collection: Collection): Promise<void> {
  const missing = 64 - (await collection.indexes()).length;
  await collection.createIndexes(
    Array.from({ length: missing }, (_, at) => ({ key: { [`other${at}`]: 1 } })),
  );
}

/** As if a request had died after it made that record, a moment ago. */
async function noteAsHalf(db: Db, table: string, record: object): Promise<void> {
  const [found, { _id }] = await Promise.all([db.collection(table).findOne(record), tableNamed(db, table)]);
  const steps = [{ kind: "made", table: _id.toHexString(), ids: [found?._id] }];
  await db.collection("_unfinished").insertOne({ instance: "gone", at: new Date(), steps });
}

const valuesOf = async (table: string, name: string): Promise<string[]> =>
  (await admin.get(`/${table}`, { sort: "id" })).body.data.map((row: Record<string, string>) => row[name]);

describe("an interrupted change whose former index can't be built again", () => {
  it("keeps neither the service from starting nor what concerns other tables from being taken back", async () => {
    await betweenLives(async (db) => {
      await interruptSoftDelete(db);
      await takeAllRoom(db.collection("members"));
      await noteAsHalf(db, "letters", { text: "half" });
      await noteAsHalf(db, "members", { email: "b@example.com" });
    });
    expect(await valuesOf("letters", "text")).toEqual(["whole"]);
    expect((await admin.post("/letters", { text: "new" })).status).toBe(201);
    expect(await valuesOf("members", "email")).toEqual(["a@example.com", "b@example.com"]);
    // Every five seconds it is looked again, and nothing is wrong about what has to wait.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(stack.dataService.log()).toContain("it is tried again");
    expect(stack.dataService.log()).not.toContain("not taken back");
  });

  it("is ended as soon as it can be, and what had waited for it is taken back", async () => {
    await betweenLives(async (db) => {
      await db.collection("members").dropIndex("other0_1");
    });
    expect(await valuesOf("members", "email")).toEqual(["a@example.com"]);
    expect((await admin.post("/members", { email: "a@example.com" })).status).toBe(409);
  });
});
