// The bytes of files beside their records: what becomes of them when several let go of some, or many go at once.
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import { systemClock } from "@portico/shared/clock";
import { makeLogger } from "@portico/shared/logger";
import { type ContentLedger, makeContentLedger } from "../mongo/content-ledger.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import type { ContentStore } from "./content-store.js";
import { Contents } from "./contents.js";

let database: TestDatabase;
let ledger: ContentLedger;
let contents: Contents;
/** Keys of bytes that are stored. */
const stored = new Set<string>();
let [removing, removingAtOnce] = [0, 0];

/** A store that takes its time to remove. */
const store: ContentStore = {
  async write(key) {
    stored.add(key);
  },
  async *read() {},
  async remove(key) {
    removing += 1;
    removingAtOnce = Math.max(removingAtOnce, removing);
    await pause(20);
    removing -= 1;
    stored.delete(key);
  },
};

const instance = (): Contents => {
  const logger = makeLogger("test", "silent");
  return new Contents({ ledger, store, clock: systemClock, logger, leaseMs: 60_000 });
};

beforeAll(async () => {
  database = await openTestDatabase();
  ledger = makeContentLedger(database.db, "files");
});

afterAll(() => database?.close());

beforeEach(async () => {
  contents = instance();
  await records().deleteMany({});
  stored.clear();
  [removing, removingAtOnce] = [0, 0];
});

const records = () => database.db.collection("files");
const notes = () => database.db.collection("_content_pending").countDocuments();

/** A file with its bytes. @returns their key */
async function file(): Promise<string> {
  const key = await contents.write((async function* () {})());
  await records().insertOne({ _contentKey: key });
  await contents.settle(key);
  return key;
}

it("many that go at once are decided about a few at a time", async () => {
  const keys = await Promise.all(Array.from({ length: 40 }, file));
  await contents.letGo(keys, () => records().deleteMany({ _contentKey: { $ne: keys[0] } }));
  expect([[...stored], await notes()]).toEqual([[keys[0]], 0]);
  expect(removingAtOnce).toBe(8);
});

it.each([
  ["of this process", () => contents],
  ["of another one", instance],
])(
  "who lets go of the same content as one %s, and fails, leaves the note to that one",
  async (_whose, other) => {
    const key = await file();
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const removal = other().letGo([key], async () => {
      await held;
      await records().deleteMany({});
    });
    const failure = contents.letGo([key], async () => {
      throw new Error("has been changed meanwhile");
    });
    await expect(failure).rejects.toThrow("changed meanwhile");
    expect([[...stored], await notes()]).toEqual([[key], 1]);
    go();
    await removal;
    expect([[...stored], await notes()]).toEqual([[], 0]);
  },
);

it("of several who fail at once, none leaves a note", async () => {
  const key = await file();
  const fail = () => contents.letGo([key], () => Promise.reject(new Error("no")));
  await Promise.allSettled(Array.from({ length: 10 }, fail));
  expect([[...stored], await notes()]).toEqual([[key], 0]);
});

it("a sweep leaves the note of whoever has begun to let go while it decided", async () => {
  const [now, later] = [new Date(), new Date(Date.now() + 60_000)];
  await ledger.open(["old"], "dead", now);
  expect(await ledger.take(now, later)).toBe("old");
  await ledger.open(["old"], "alive", later);
  await ledger.closeTaken("old");
  expect(await notes()).toBe(1);
  await ledger.open(["old"], "alive", now);
  await contents.sweep();
  expect(await notes()).toBe(0);
});
