// Inserts of the same turn of the event loop are one command, and each caller is told of its own.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type Document as BsonDocument,
  type BulkWriteResult,
  type Collection,
  MongoBulkWriteError,
  MongoNetworkError,
} from "mongodb";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { isUnanswered } from "./driver-errors.js";
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
});
