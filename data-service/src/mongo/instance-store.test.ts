// How long a data service that was killed is listed.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { INSTANCES, makeInstanceStore } from "./instance-store.js";

const HOUR_MS = 60 * 60_000;

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

it("an instance that was killed a day ago is listed no longer, and one that has just been silent is", async () => {
  const listed = database.db.collection<{ _id: string; version: number; at: Date }>(INSTANCES);
  const store = makeInstanceStore(database.db);
  await store.announce("alive", 1);
  const ago = (hours: number): Date => new Date(Date.now() - hours * HOUR_MS);
  await listed.insertMany([
    { _id: "silent", version: 1, at: ago(1) },
    { _id: "long gone", version: 1, at: ago(25) },
  ]);
  await store.sweep();
  const names = (await listed.find().toArray()).map(({ _id }) => _id);
  expect(names.toSorted()).toEqual(["alive", "silent"]);
});
