// Inserts of the same turn of the event loop are one command, and each caller is told of its own.
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type Document as BsonDocument,
  type BulkWriteResult,
  type Collection,
  MongoBulkWriteError,
  MongoNetworkError,
} from "mongodb";
import { noteSockets, openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { asRefusal, insertedBefore, isUnanswered } from "./driver-errors.js";
import { GatheredInserts } from "./gathered-inserts.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database?.close());

/** A collection of its own, and what it was asked for. */
async function collectionOf(name: string) {
  const collection = database.db.collection<BsonDocument>(name);
  await collection.createIndex({ name: 1 }, { unique: true });
  const asked: string[] = [];
  const watched = new Proxy(collection, {
    get(target, method: keyof Collection<BsonDocument>) {
      const value = target[method];
      if (typeof value !== "function") return value;
      if (method === "insertOne" || method === "insertMany") asked.push(method);
      return value.bind(target);
    },
  });
  const inserts = new GatheredInserts();
  const insertAll = (documents: readonly BsonDocument[]) =>
    Promise.allSettled(documents.map((document) => inserts.insert(watched, document)));
  const names = async () => (await collection.find().sort({ name: 1 }).toArray()).map(({ name }) => name);
  return { insertAll, names, asked };
}

describe("documents inserted in the same turn", () => {
  it("go with one insert", async () => {
    const { insertAll, names, asked } = await collectionOf("together");
    const done = await insertAll([{ name: "a" }, { name: "b" }, { name: "c" }]);
    expect(done.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    expect([await names(), asked]).toEqual([["a", "b", "c"], ["insertMany"]]);
  });

  it("are one insert of its own, where there is only one", async () => {
    const { insertAll, names, asked } = await collectionOf("alone");
    await insertAll([{ name: "a" }]);
    expect([await names(), asked]).toEqual([["a"], ["insertOne"]]);
  });

  it("are refused one by one, with the words of a single insert", async () => {
    const { insertAll, names } = await collectionOf("refused");
    const done = await insertAll([{ name: "a" }, { name: "b" }, { name: "a" }, { name: "c" }]);
    expect(done.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(done[2]).toMatchObject({
      reason: { name: "MongoServerError", code: 11_000, keyPattern: { name: 1 } },
    });
    expect(await names()).toEqual(["a", "b", "c"]);
  });

  it("do not fall with one that is too large for a document", async () => {
    const { insertAll, names } = await collectionOf("large");
    const large = { name: "large", text: "x".repeat(17 * 1024 * 1024) };
    const huge = { name: "huge", text: "x".repeat(20 * 1024 * 1024), more: "x" };
    const done = await insertAll([{ name: "a" }, large, huge, { name: "b" }]);
    expect(done.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(await names()).toEqual(["a", "b"]);
  });

  it("are more than one insert takes, and all there", async () => {
    const { insertAll, names, asked } = await collectionOf("many");
    await insertAll(Array.from({ length: 250 }, (_, at) => ({ name: `${at}`.padStart(3, "0") })));
    expect([(await names()).length, asked.length]).toEqual([250, 3]);
  });
});

describe("inserts that nobody knows the end of", () => {
  it("are refused to all of them", async () => {
    const inserts = new GatheredInserts();
    const gone = new MongoNetworkError("gone");
    const collection = Object.create(database.db.collection("gone"), {
      insertMany: { value: async () => Promise.reject(gone) },
      collectionName: { value: "gone" },
    });
    const done = await Promise.allSettled(
      [{ name: "a" }, { name: "b" }].map((document) => inserts.insert(collection, document)),
    );
    expect(done).toEqual([
      { status: "rejected", reason: gone },
      { status: "rejected", reason: gone },
    ]);
  });

  it("are uncertain to all of them where what was written may not stay", async () => {
    const inserts = new GatheredInserts();
    const writeErrors = [{ index: 0, code: 11_000, errmsg: "E11000" }];
    const result = { getWriteConcernError: () => ({ code: 64 }) } as unknown as BulkWriteResult;
    const error = new MongoBulkWriteError({ message: "E11000", code: 11_000, writeErrors } as never, result);
    const collection = Object.create(database.db.collection("unsafe"), {
      insertMany: { value: async () => Promise.reject(error) },
      collectionName: { value: "unsafe" },
    });
    const done = await Promise.allSettled(
      [{ name: "a" }, { name: "b" }].map((document) => inserts.insert(collection, document)),
    );
    expect(done.map((each) => each.status === "rejected" && isUnanswered(each.reason))).toEqual([true, true]);
  });

  it("count nothing as written of a single one, which may be the one that was not", async () => {
    const inserts = new GatheredInserts();
    const result = {
      insertedCount: 1,
      getWriteConcernError: () => ({ code: 64 }),
    } as unknown as BulkWriteResult;
    const error = new MongoBulkWriteError({ message: "waiting for replication timed out", code: 64 }, result);
    const collection = Object.create(database.db.collection("unconfirmed"), {
      insertMany: { value: async () => Promise.reject(error) },
      collectionName: { value: "unconfirmed" },
    });
    const done = await Promise.allSettled(
      [{ name: "a" }, { name: "b" }].map((document) => inserts.insert(collection, document)),
    );
    const reasons = done.map((each) => each.status === "rejected" && each.reason);
    expect(reasons.map(isUnanswered)).toEqual([true, true]);
    expect(reasons.map((reason) => insertedBefore(asRefusal(reason)))).toEqual([0, 0]);
  });
});

describe("inserts for which no connection gets free", () => {
  it("are told so, and are known not to be written", async () => {
    const connections = noteSockets();
    const { db, close } = await openTestDatabase({ maxPoolSize: 1, waitQueueTimeoutMS: 200 });
    const collection = db.collection<BsonDocument>("full");
    await collection.findOne({});
    const taken = once(db.client, "connectionCheckedOut");
    // Nothing is sent, so that the only connection stays in use.
    for (const socket of connections.sockets) socket.cork();
    const held = collection.findOne({});
    await taken;
    const inserts = new GatheredInserts();
    const documents = [{ name: "a" }, { name: "b" }];
    const done = await Promise.allSettled([
      ...documents.map((document) => inserts.insert(collection, document)),
      collection.insertMany(documents),
    ]);
    for (const socket of connections.sockets) socket.uncork();
    await held;
    connections.stop();
    await close();
    const reasons = done.map((each) => each.status === "rejected" && each.reason);
    const told = { messages: "The database has too much to do; try again in a moment." };
    expect(reasons.map((reason) => asRefusal(reason))).toMatchObject([told, told, told]);
    expect(reasons.map(isUnanswered)).toEqual([false, false, false]);
  });
});
