// How long a data service that was killed counts as living, and is listed.
import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import type { Collection } from "mongodb";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { INSTANCES, type InstanceStore, makeInstanceStore } from "./instance-store.js";

const HOUR_MS = 60 * 60_000;

let database: TestDatabase;
let listed: Collection<{ _id: string; version: number; at: Date }>;
let store: InstanceStore;

beforeAll(async () => {
  database = await openTestDatabase();
  listed = database.db.collection(INSTANCES);
  store = makeInstanceStore(database.db);
});
beforeEach(() => store.clear());
afterAll(() => database.close());

const inMs = (ms: number): Date => new Date(Date.now() + ms);

it("an instance that was killed while the database's clock was ahead does not count as living", async () => {
  await listed.insertOne({ _id: "killed", version: 1, at: inMs(2 * HOUR_MS) });
  expect([await store.lives("killed"), await store.anyLives(), await store.behind(2, "own")]).toEqual([
    false,
    false,
    [],
  ]);
});

it("an instance that another primary has heard, whose clock is ahead by two seconds, counts as living", async () => {
  await listed.insertOne({ _id: "heard", version: 1, at: inMs(2_000) });
  expect([await store.lives("heard"), await store.anyLives(), await store.behind(2, "own")]).toEqual([
    true,
    true,
    ["heard"],
  ]);
});

it("an instance that was killed a day ago is listed no longer, and one that has just been silent is", async () => {
  await store.announce("alive", 1);
  await listed.insertMany([
    { _id: "silent", version: 1, at: inMs(-HOUR_MS) },
    { _id: "long gone", version: 1, at: inMs(-25 * HOUR_MS) },
    { _id: "years ahead", version: 1, at: inMs(10_000 * HOUR_MS) },
  ]);
  await store.sweep();
  const names = (await listed.find().toArray()).map(({ _id }) => _id);
  expect(names.toSorted()).toEqual(["alive", "silent"]);
});

it("an instance lives until it has been silent for five seconds, and again when it says so", async () => {
  await listed.insertMany([
    { _id: "busy", version: 1, at: inMs(-1_000) },
    { _id: "silent", version: 1, at: inMs(-10_000) },
  ]);
  expect([await store.lives("busy"), await store.lives("silent")]).toEqual([true, false]);
  await store.announce("silent", 1);
  expect(await store.lives("silent")).toBe(true);
});

it("instances are waited for that work with an earlier number, but for one's own and those that have left", async () => {
  for (const [name, version] of [
    ["own", 1],
    ["late", 1],
    ["left", 1],
    ["ready", 2],
  ] as const)
    await store.announce(name, version);
  await store.leave("left");
  expect(await store.behind(2, "own")).toEqual(["late"]);
  await store.announce("late", 2);
  expect(await store.behind(2, "own")).toEqual([]);
});
