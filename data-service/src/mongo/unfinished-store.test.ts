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

const linked = (list: boolean): Step => ({
  kind: "linked",
  table: "posts",
  field: "tags",
  list,
  to: { table: "tags", id: 1 },
  by: new ObjectId(),
  gained: [{ id: 2, before: null, by: null }],
  lost: [],
});

it("a note that is left says no more of links in lists, which others may have set since", async () => {
  const store = new UnfinishedStore(database.db, false);
  const id = new ObjectId();
  const steps: Step[] = [{ kind: "made", table: "tags", ids: [1] }, linked(true), linked(false)];
  await store.begin({ id, instance: "one", at: new Date(0), steps });
  expect(await store.leave({ id, instance: "one" }, new Date(120_000))).toBe(true);
  const [left] = await store.all();
  expect(left?.at).toEqual(new Date(120_000));
  expect(left?.steps.map((step) => [step.kind, "list" in step && step.list])).toEqual([
    ["made", false],
    ["linked", false],
  ]);
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
  const steps = [changed("others"), linked(true), changed("people"), changed("people")];
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
