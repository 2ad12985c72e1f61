// Contents that were asked for lately are given from memory, as far as they are small and still there.
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, expect, it } from "@jest/globals";
import { type CommandStartedEvent, ObjectId } from "mongodb";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { makeGridFsContent } from "../mongo/gridfs-content.js";
import type { ByteRange } from "./byte-range.js";
import type { ContentStore } from "./content-store.js";
import { withRecent } from "./recent-contents.js";

const SMALL = Buffer.alloc(200 * 1024, "0123456789 ");
const LARGE = Buffer.alloc(256 * 1024 + 1, "0123456789 ");

let database: TestDatabase;
let stored: ContentStore;
let contents: ContentStore;
let asked = 0;

beforeAll(async () => {
  database = await openTestDatabase({ monitorCommands: true });
  stored = makeGridFsContent(database.db, false, undefined);
  database.db.client.on("commandStarted", ({ commandName }: CommandStartedEvent) => {
    if (commandName === "find") asked += 1;
  });
});

afterAll(() => database?.close());

beforeEach(() => {
  contents = withRecent(stored);
});

async function store(bytes: Buffer): Promise<string> {
  const key = new ObjectId().toHexString();
  await contents.write(key, Readable.from([bytes]));
  return key;
}

const whole = (bytes: Buffer): ByteRange => ({ start: 0, end: bytes.length - 1 });

/** What is read, and whether the database was asked for it. */
async function read(key: string, range: ByteRange, from = contents) {
  asked = 0;
  const pieces: Uint8Array[] = [];
  for await (const piece of from.read(key, range)) pieces.push(piece);
  return { bytes: Buffer.concat(pieces), isAsked: asked > 0 };
}

it("a small content is asked for once, and then given as a whole and in parts", async () => {
  const key = await store(SMALL);
  expect(await read(key, whole(SMALL))).toEqual({ bytes: SMALL, isAsked: true });
  expect(await read(key, whole(SMALL))).toEqual({ bytes: SMALL, isAsked: false });
  const part = { start: 130_000, end: 190_000 };
  expect(await read(key, part)).toEqual({ bytes: SMALL.subarray(130_000, 190_001), isAsked: false });
});

it("what is in memory is told of, and nothing else", async () => {
  const key = await store(SMALL);
  const part = { start: 1_000, end: 2_000 };
  expect(contents.held?.(key, part)).toBeUndefined();
  await read(key, { start: 0, end: 4_999 });
  expect(contents.held?.(key, part)).toEqual(SMALL.subarray(1_000, 2_001));
  expect(contents.held?.(key, { start: 0, end: 5_000 })).toBeUndefined();
  await contents.remove(key);
  expect(contents.held?.(key, part)).toBeUndefined();
});

it("the beginning of a content is given again, and nothing beyond it", async () => {
  const key = await store(SMALL);
  await read(key, { start: 0, end: 99 });
  expect(await read(key, { start: 10, end: 99 })).toEqual({ bytes: SMALL.subarray(10, 100), isAsked: false });
  expect(await read(key, { start: 10, end: 100 })).toEqual({ bytes: SMALL.subarray(10, 101), isAsked: true });
});

it("a large content is read each time, and so is a part that does not begin at the beginning", async () => {
  const [large, small] = [await store(LARGE), await store(SMALL)];
  for (const [key, range] of [[large, whole(LARGE)] as const, [small, { start: 1, end: 99 }] as const]) {
    await read(key, range);
    expect((await read(key, range)).isAsked).toBe(true);
  }
});

it("one that was not read to its end is not kept", async () => {
  const key = await store(SMALL);
  for await (const _piece of contents.read(key, whole(SMALL))) break;
  expect(await read(key, whole(SMALL))).toEqual({ bytes: SMALL, isAsked: true });
});

it("readers who take their time hold no more together than is set; what is beyond that is not kept", async () => {
  const few = withRecent(stored, undefined, 2 * SMALL.length);
  const keys = [await store(SMALL), await store(SMALL), await store(SMALL)];
  const slow: AsyncIterator<Uint8Array>[] = [];
  for (const key of keys) {
    const begun = few.read(key, whole(SMALL))[Symbol.asyncIterator]();
    expect((await begun.next()).done).toBe(false);
    slow.push(begun);
  }
  // One leaves, another begins in its place.
  await slow[0]?.return?.();
  const late = await store(SMALL);
  expect((await read(late, whole(SMALL), few)).bytes).toEqual(SMALL);
  for (const each of slow.slice(1)) while (!(await each.next()).done);
  const kept = [];
  for (const key of [...keys, late]) kept.push(few.held?.(key, whole(SMALL)) !== undefined);
  expect(kept).toEqual([false, true, false, true]);
});

it("readers who ask at the same moment are counted before the first of them reads", async () => {
  const few = withRecent(stored, undefined, 2 * SMALL.length);
  const keys = [await store(SMALL), await store(SMALL), await store(SMALL)];
  const asked = keys.map((key) => few.read(key, whole(SMALL)));
  for (const bytes of asked) for await (const piece of bytes) expect(piece.length).toBeGreaterThan(0);
  const kept = keys.map((key) => few.held?.(key, whole(SMALL)) !== undefined);
  expect(kept).toEqual([true, true, false]);
});

it("a removed one is gone here as well", async () => {
  const key = await store(SMALL);
  await read(key, whole(SMALL));
  await contents.remove(key);
  await expect(read(key, whole(SMALL))).rejects.toThrow("is missing");
});

it("what was asked for longest ago makes room", async () => {
  const few = withRecent(stored, 2 * (SMALL.length + 1024));
  const keys = [await store(SMALL), await store(SMALL), await store(SMALL)];
  for (const key of keys) await read(key, whole(SMALL), few);
  const kept = [];
  for (const key of keys.toReversed()) kept.push(!(await read(key, whole(SMALL), few)).isAsked);
  expect(kept).toEqual([true, true, false]);
});

it("many tiny ones count for what keeping each takes", async () => {
  const few = withRecent(stored, 10 * 1024);
  const keys: string[] = [];
  for (let made = 0; made < 12; made += 1) keys.push(await store(Buffer.from("tiny")));
  for (const key of keys) await read(key, { start: 0, end: 3 }, few);
  const kept = keys.filter((key) => few.held?.(key, { start: 0, end: 3 }) !== undefined);
  expect(kept).toEqual(keys.slice(-9));
});
