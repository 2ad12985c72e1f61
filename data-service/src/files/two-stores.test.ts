// Contents of two stores: the second is asked only for what the first does not have, and lets go as well.
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type CommandStartedEvent, ObjectId } from "mongodb";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { makeGridFsContent } from "../mongo/gridfs-content.js";
import type { ContentStore } from "./content-store.js";
import { withFormer } from "./two-stores.js";

let databases: TestDatabase[];
let first: ContentStore;
let former: ContentStore;
let both: ContentStore;
/** Commands that the second got. */
let asked = 0;

beforeAll(async () => {
  const [one, two] = await Promise.all([openTestDatabase(), openTestDatabase({ monitorCommands: true })]);
  databases = [one, two];
  two.db.client.on("commandStarted", ({ commandName }: CommandStartedEvent) => {
    if (["find", "insert", "delete"].includes(commandName)) asked += 1;
  });
  first = makeGridFsContent(one.db, false, undefined);
  former = makeGridFsContent(two.db, false, undefined);
  both = withFormer(first, former);
});

afterAll(async () => {
  await Promise.all(databases.map((each) => each.close()));
});

beforeEach(() => {
  asked = 0;
});

async function written(store: ContentStore, text: string): Promise<string> {
  const key = new ObjectId().toHexString();
  await store.write(key, Readable.from([Buffer.from(text)]));
  return key;
}

async function read(store: ContentStore, key: string, [start, end]: readonly [number, number]) {
  const pieces: Uint8Array[] = [];
  for await (const piece of store.read(key, { start, end })) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

it("what is new is written to the first and read from there, and the second is not asked", async () => {
  const key = await written(both, "new");
  expect([await read(both, key, [0, 2]), await read(first, key, [0, 2]), asked]).toEqual(["new", "new", 0]);
});

it("what only the second has is read from there, whole and in part", async () => {
  const key = await written(former, "former");
  expect(await read(both, key, [0, 5])).toBe("former");
  expect(await read(both, key, [1, 2])).toBe("or");
});

it("what neither has is missing", async () => {
  const key = new ObjectId().toHexString();
  await expect(read(both, key, [0, 1])).rejects.toMatchObject({ code: "NOT_FOUND", key });
});

describe("what the first does not tell us about", () => {
  const secret = new Error("forbidden");
  const failing = (error: Error): ContentStore => ({
    ...first,
    // biome-ignore lint/correctness/useYield: it fails before it gives anything
    async *read() {
      throw error;
    },
    mayLack: (failure) => failure === secret,
  });

  it("is read from the second, or as the first says if that has none", async () => {
    const key = await written(former, "former");
    const guarded = withFormer(failing(secret), former);
    expect(await read(guarded, key, [0, 5])).toBe("former");
    await expect(read(guarded, new ObjectId().toHexString(), [0, 5])).rejects.toBe(secret);
  });

  it("is not asked for where the first fails otherwise", async () => {
    const key = await written(former, "former");
    const down = new Error("down");
    asked = 0;
    await expect(read(withFormer(failing(down), former), key, [0, 5])).rejects.toBe(down);
    expect(asked).toBe(0);
  });
});

it("what goes is gone from both", async () => {
  for (const store of [first, former]) {
    const key = await written(store, "going");
    await both.remove(key);
    await expect(read(store, key, [0, 4])).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
});
