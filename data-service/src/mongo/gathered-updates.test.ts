// Updates of the same turn of the event loop are one command, and each caller is told of its own.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type Document as BsonDocument,
  type Collection,
  Decimal128,
  type Filter,
  MongoError,
  MongoNetworkError,
} from "mongodb";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { isUnanswered } from "./driver-errors.js";
import { GatheredUpdates, type IdChange } from "./gathered-updates.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database?.close());

type Row = BsonDocument & { _id: number };

/** A collection of its own with rows 1 to 5, and what it was asked for. */
async function collectionOf(
  name: string,
  meanwhile: (rows: Collection<Row>) => Promise<unknown> = async () => {},
) {
  const rows = database.db.collection<Row>(name);
  await rows.createIndex({ name: 1 }, { unique: true });
  await rows.insertMany(
    [1, 2, 3, 4, 5].map((_id) => ({ _id, name: `row ${_id}`, changes: 0, made: new Date(0) })),
  );
  const asked: string[] = [];
  const watched = new Proxy(database.db.collection<BsonDocument>(name), {
    get(target, method: keyof Collection<BsonDocument>) {
      const value = target[method];
      if (typeof value !== "function") return value;
      if (method === "bulkWrite" || method === "find") asked.push(method);
      if (method !== "bulkWrite") return value.bind(target);
      return async (...given: Parameters<typeof target.bulkWrite>) => {
        const done = await target.bulkWrite(...given);
        await meanwhile(rows);
        return done;
      };
    },
  });
  const updates = new GatheredUpdates(5_000);
  const makeAll = (changes: readonly IdChange[]) =>
    Promise.all(changes.map((change) => updates.make(watched, change)));
  const changed = async () =>
    (await rows.find({ changes: { $gt: 0 } }).toArray()).map((row) => [row._id, row.changes]);
  return { makeAll, changed, asked, rows };
}

const at = new Date();
const counted = { $inc: { changes: 1 }, $set: { at } };
const change = (id: IdChange["id"], update: IdChange["change"] = counted): IdChange => ({
  id,
  change: update,
  proof: { $or: [{ at }, { made: { $lt: at } }] },
});

describe("changes made in the same turn", () => {
  it("go with one command", async () => {
    const { makeAll, changed, asked } = await collectionOf("together");
    expect(await makeAll([change(1), change(2), change(3)])).toEqual([true, true, true]);
    expect([await changed(), asked]).toEqual([
      [
        [1, 1],
        [2, 1],
        [3, 1],
      ],
      ["bulkWrite"],
    ]);
  });

  it("are left to the caller, where there is only one", async () => {
    const { makeAll, changed, asked } = await collectionOf("alone");
    expect(await makeAll([change(1)])).toEqual([false]);
    expect([await changed(), asked]).toEqual([[], []]);
  });

  it("leave the second of one document to its caller", async () => {
    const { makeAll, changed } = await collectionOf("twice");
    expect(await makeAll([change(1), change(2), change(1)])).toEqual([true, true, false]);
    expect(await changed()).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });

  it("are made once, also beside those that are refused", async () => {
    const { makeAll, changed } = await collectionOf("refused");
    const collides = { ...counted, $set: { name: "row 5" } };
    expect(await makeAll([change(1), change(2, collides), change(3)])).toEqual([true, false, true]);
    expect(await changed()).toEqual([
      [1, 1],
      [3, 1],
    ]);
  });

  it("are made once, also beside those whose document is not there", async () => {
    const { makeAll, changed } = await collectionOf("missing");
    expect(await makeAll([change(1), change(9), change(3)])).toEqual([true, false, true]);
    expect(await changed()).toEqual([
      [1, 1],
      [3, 1],
    ]);
  });

  it("are not taken for made where others have come and gone meanwhile", async () => {
    const { makeAll } = await collectionOf("passing", async (rows) => {
      await rows.deleteOne({ _id: 2 });
      await rows.insertOne({ _id: 9, name: "row 9", changes: 0, made: new Date() });
    });
    expect(await makeAll([change(9), change(2), change(3)])).toEqual([false, false, true]);
  });

  it("are made once, also where somebody else has changed the document since", async () => {
    const { makeAll } = await collectionOf("changed", (rows) =>
      rows.updateOne({ _id: 1 }, { $set: { at: new Date(0) } }),
    );
    expect(await makeAll([change(1), change(9), change(3)])).toEqual([true, false, true]);
  });

  it("are made once, whatever the text of an id is", async () => {
    const { makeAll, rows } = await collectionOf("kinds");
    const six = Decimal128.fromString("6");
    await database.db.collection<{ _id: Decimal128 }>("kinds").insertOne({ _id: six });
    expect(await makeAll([change(6), change(1), change(9)])).toEqual([true, true, false]);
    const found = await rows.find({ changes: 1 }).toArray();
    expect(found.map(({ _id }) => String(_id))).toEqual(["1", "6"]);
  });

  it("are left to their callers beside one that the driver does not send", async () => {
    const { makeAll, changed } = await collectionOf("large");
    const large = { $set: { text: "x".repeat(17 * 1024 * 1024) } };
    expect(await makeAll([change(1), change(2, large), change(3)])).toEqual([false, false, false]);
    expect(await changed()).toEqual([]);
  });
});

describe("changes that nobody knows the end of", () => {
  it("are told to their own callers, where only the look for one of them fails", async () => {
    const { rows } = await collectionOf("unseen");
    const busy = new MongoError("no connection got free");
    const findOne = (which: Filter<Row>) => (which._id === 9 ? Promise.reject(busy) : rows.findOne(which));
    const collection = Object.create(rows, {
      bulkWrite: { value: rows.bulkWrite.bind(rows) },
      findOne: { value: findOne },
      collectionName: { value: "unseen" },
    });
    const updates = new GatheredUpdates(5_000);
    const [first, ninth, second] = await Promise.allSettled(
      [1, 9, 2].map((id) => updates.make(collection, change(id))),
    );
    const made = { status: "fulfilled", value: true };
    expect([first, second]).toEqual([made, made]);
    expect(ninth?.status === "rejected" && isUnanswered(ninth.reason)).toBe(true);
  });

  it("are refused to all of them", async () => {
    const gone = new MongoNetworkError("gone");
    const collection = Object.create(database.db.collection("gone"), {
      bulkWrite: { value: async () => Promise.reject(gone) },
      collectionName: { value: "gone" },
    });
    const updates = new GatheredUpdates(5_000);
    const done = await Promise.allSettled([1, 2].map((id) => updates.make(collection, change(id))));
    expect(done).toEqual([
      { status: "rejected", reason: gone },
      { status: "rejected", reason: gone },
    ]);
  });
});
