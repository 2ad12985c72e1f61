// Notes of requests that write more than once: what is left of one for a second look.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { ObjectId } from "bson";
import type { Step } from "../records/whole/steps.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { UnfinishedStore } from "./unfinished-store.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database?.close());

const made = (table: string): Step => ({ kind: "made", table, ids: [1] });
const LINKED: Step = {
  kind: "linked",
  table: "posts",
  field: "tags",
  list: true,
  to: { table: "tags", id: 1 },
  by: new ObjectId(),
  gained: [{ id: 2, before: null, by: null }],
  lost: [],
};

it("a note is left with the steps that are still to be looked at, by whom it belongs to", async () => {
  const store = new UnfinishedStore(database.db, false);
  const id = new ObjectId();
  await store.begin({ id, instance: "one", at: new Date(0), steps: [made("tags"), made("posts")] });
  const left = { at: new Date(120_000), again: true, steps: [made("tags")] };
  expect(await store.leave({ id, instance: "other" }, left)).toBe(false);
  expect(await store.leave({ id, instance: "one" }, left)).toBe(true);
  expect(await store.all()).toMatchObject([left]);
});

it("a note of an earlier version says no more of what has no name", async () => {
  const store = new UnfinishedStore(database.db, false);
  const note = {
    instance: "one",
    at: new Date(0),
    steps: [{ kind: "linked" }, { kind: "changed" }, made("tags")],
  };
  const { insertedId } = await database.db.collection("_unfinished").insertOne(note);
  const found = (await store.all()).find(({ id }) => id.equals(insertedId));
  expect(found?.steps).toEqual([made("tags")]);
});

it("a note can be made to forget what fields of a table's records held, and nothing else", async () => {
  const store = new UnfinishedStore(database.db, false);
  const changed = (table: string): Step => ({
    kind: "changed",
    table,
    id: 1,
    changes: 0,
    moves: 0,
    by: new ObjectId(),
    at: new Date(0),
    set: { name: "plain", age: 1 },
    unset: [],
    lists: {},
  });
  const id = new ObjectId();
  const steps = [changed("others"), LINKED, changed("people"), changed("people")];
  await store.begin({ id, instance: "one", at: new Date(0), steps });
  await store.forgetValues("people", ["name", "former"]);
  const left = (await store.all()).find((note) => note.id.equals(id));
  expect(left?.steps.map((step) => "set" in step && step.set)).toEqual([
    { name: "plain", age: 1 },
    false,
    { age: 1 },
    { age: 1 },
  ]);
});

it("notes are no longer found by their owner, as in earlier versions: that index goes", async () => {
  const notes = database.db.collection("_unfinished");
  await notes.createIndex({ "once.owner": 1 }, { sparse: true });
  const store = new UnfinishedStore(database.db, false);
  await store.ensureIndexes();
  await store.ensureIndexes();
  expect((await notes.indexes()).map(({ name }) => name)).toEqual(["_id_", "once.key_1"]);
});
