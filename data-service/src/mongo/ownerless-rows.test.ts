// Which API tokens and provider accounts are swept away: those of users who are there no more.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Db, ObjectId } from "mongodb";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { sweepOwnerless } from "./ownerless-rows.js";
import { userCollection } from "./user-store.js";

const NOW = new Date("2026-01-02T12:00:00Z");
const LONG_AGO = new Date("2026-01-01T12:00:00Z");
const HOUR = 60 * 60_000;

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});
afterAll(() => database?.close());
beforeEach(() => db.dropDatabase());

async function makeUser(): Promise<ObjectId> {
  const _id = new ObjectId();
  const at = { createdAt: LONG_AGO, updatedAt: LONG_AGO };
  const user = { _id, email: `${_id}@example.com`, isActive: true, isRootAdmin: false, ...at };
  await userCollection(db, "svc_").insertOne(user);
  return _id;
}

const add = (collection: string, userId: ObjectId, parts: object = {}): Promise<unknown> =>
  db.collection(collection).insertOne({ userId, createdAt: LONG_AGO, ...parts });

const sweep = (): Promise<void> => sweepOwnerless(db, "svc_")(NOW);
const left = (collection: string): Promise<number> => db.collection(collection).countDocuments();

describe.each(["_api_tokens", "_oauth_accounts"])("rows of %s", (collection) => {
  it("go where their user is there no more, however many there are, and stay where that is", async () => {
    const there = await makeUser();
    const rows = Array.from({ length: 2_500 }, () => ({ userId: new ObjectId(), createdAt: LONG_AGO }));
    await db.collection(collection).insertMany(rows);
    await add(collection, there);
    await add(collection, there);
    await sweep();
    expect(await db.collection(collection).distinct("userId")).toEqual([there]);
    expect(await left(collection)).toBe(2);
  });

  it("stay where they are an hour old at most", async () => {
    await add(collection, new ObjectId(), { createdAt: new Date(NOW.getTime() - HOUR) });
    await sweep();
    expect(await left(collection)).toBe(1);
  });
});

it("a provider account stays whose user is being made", async () => {
  await add("_oauth_accounts", new ObjectId(), { pending: true });
  await sweep();
  expect(await left("_oauth_accounts")).toBe(1);
});

it("they are looked for once a day", async () => {
  const again = sweepOwnerless(db, "svc_");
  await again(NOW);
  await add("_api_tokens", new ObjectId());
  await again(new Date(NOW.getTime() + 23 * HOUR));
  expect(await left("_api_tokens")).toBe(1);
  await again(new Date(NOW.getTime() + 24 * HOUR));
  expect(await left("_api_tokens")).toBe(0);
});
