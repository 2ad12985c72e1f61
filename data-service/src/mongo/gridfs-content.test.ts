// Contents in the database: whole, read no further than they are asked for, and never on all connections.
import { once } from "node:events";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { unavailable } from "@portico/shared/app-error";
import { ObjectId } from "mongodb";
import type { ContentStore } from "../files/content-store.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { makeGridFsContent } from "./gridfs-content.js";

const CHUNK_BYTES = 127 * 1024;
/** Twenty chunks and a half. */
const BYTES = Buffer.alloc(20.5 * CHUNK_BYTES, "0123456789 ");
const WHOLE = { start: 0, end: BYTES.length - 1 };

let database: TestDatabase;
let content: ContentStore;
let key: string;
/** How often the database was asked, and at most how often at the same time. */
let asked = 0;
let askedAtOnce = 0;

beforeAll(async () => {
  database = await openTestDatabase();
  content = makeGridFsContent(database.db, false, undefined);
  let busy = 0;
  database.db.client.on("connectionCheckedOut", () => {
    asked += 1;
    busy += 1;
    askedAtOnce = Math.max(askedAtOnce, busy);
  });
  database.db.client.on("connectionCheckedIn", () => {
    busy -= 1;
  });
});

afterAll(() => database.close());

beforeEach(async () => {
  key = new ObjectId().toHexString();
  await content.write(key, pieces());
  [asked, askedAtOnce] = [0, 0];
});

/** Not as long as chunks are. */
async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < BYTES.length; at += 10_000) yield BYTES.subarray(at, at + 10_000);
}

async function readAll(range = WHOLE, contents = content): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const piece of contents.read(key, range)) read.push(piece);
  return Buffer.concat(read);
}

function readStream(): Readable {
  const stream = content.read(key, WHOLE);
  if (!(stream instanceof Readable)) throw new Error("not a stream, which a client that leaves would end");
  return stream;
}

/** Cursors of this database that wait to be asked for more. */
async function openCursors(): Promise<number> {
  const { client, databaseName } = database.db;
  const pipeline = [
    { $currentOp: { idleCursors: true, allUsers: true } },
    { $match: { type: "idleCursor", ns: { $regex: `^${databaseName}\\.` } } },
  ];
  return (await client.db("admin").aggregate(pipeline).toArray()).length;
}

const missing = (what: string) => ({
  code: "NOT_FOUND",
  key,
  cause: { message: expect.stringContaining(what) },
});

describe("a content", () => {
  it.each([
    WHOLE,
    { start: 0, end: 0 },
    { start: CHUNK_BYTES, end: CHUNK_BYTES },
    { start: CHUNK_BYTES - 1, end: 3 * CHUNK_BYTES },
    { start: BYTES.length - 5, end: BYTES.length - 1 },
  ])("comes back as it went in, from $start to $end", async (range) => {
    expect((await readAll(range)).equals(BYTES.subarray(range.start, range.end + 1))).toBe(true);
  });

  it("of which a chunk is missing fails, and gives nothing after the gap", async () => {
    const chunks = database.db.collection("_content.chunks");
    await chunks.deleteOne({ files_id: ObjectId.createFromHexString(key), n: 3 });
    await expect(readAll()).rejects.toMatchObject(missing("chunk 3 of"));
    await chunks.deleteOne({ files_id: ObjectId.createFromHexString(key), n: 20 });
    const rest = { start: 4 * CHUNK_BYTES, end: WHOLE.end };
    await expect(readAll(rest)).rejects.toMatchObject(missing("chunk 20 of"));
  });

  it("is not read ahead of whoever reads it", async () => {
    const reading = content.read(key, WHOLE)[Symbol.asyncIterator]();
    await reading.next();
    await pause(100);
    expect(asked).toBe(1);
    await reading.return?.();
  });
});

describe("a content that comes while the disk fills up", () => {
  it("is stored as far as there is room for it, and no further", async () => {
    let looks = 0;
    const requireSpace = async (): Promise<void> => {
      looks += 1;
      if (looks > 2) throw unavailable("The disk is nearly full.", 60);
    };
    let told = 0;
    const written = async (bytes: number): Promise<void> => {
      told += bytes;
    };
    const watching = makeGridFsContent(database.db, false, { require: requireSpace, written });
    const another = new ObjectId();
    await expect(watching.write(another.toHexString(), pieces())).rejects.toThrow("nearly full");
    const stored = await database.db.collection("_content.chunks").countDocuments({ files_id: another });
    expect(stored * CHUNK_BYTES).toBeLessThanOrEqual(2 * 1024 * 1024);
    expect(stored).toBeGreaterThan(0);
    expect(told).toBe(stored * CHUNK_BYTES);
  });
});

describe("many downloads at once", () => {
  it("leave two thirds of the connections to everybody else, and all come to their end", async () => {
    const all = await Promise.all(Array.from({ length: 60 }, () => readAll()));
    expect(all.every((each) => each.equals(BYTES))).toBe(true);
    expect(askedAtOnce).toBeGreaterThan(1);
    expect(askedAtOnce).toBeLessThanOrEqual(database.db.client.options.maxPoolSize / 3);
  });

  it("do not wait for each other where the address sets no limit to connections", async () => {
    const unlimited = await openTestDatabase({ maxPoolSize: 0 });
    const contents = makeGridFsContent(unlimited.db, false, undefined);
    await contents.write(key, pieces());
    let [busy, atOnce] = [0, 0];
    unlimited.db.client.on("connectionCheckedOut", () => {
      busy += 1;
      atOnce = Math.max(atOnce, busy);
    });
    unlimited.db.client.on("connectionCheckedIn", () => {
      busy -= 1;
    });
    const all = await Promise.all(Array.from({ length: 5 }, () => readAll(WHOLE, contents)));
    await unlimited.close();
    expect(all.every((each) => each.equals(BYTES))).toBe(true);
    expect(atOnce).toBeGreaterThan(1);
  });

  it("that are given up while they wait leave nothing open and keep nobody from reading", async () => {
    const given = Array.from({ length: 60 }, readStream);
    for (const each of given) each.resume();
    while (asked === 0) await pause(1);
    const closed = given.map((each) => once(each, "close"));
    for (const each of given) each.destroy();
    await Promise.all(closed);
    expect((await readAll()).equals(BYTES)).toBe(true);
    expect(await openCursors()).toBe(0);
  });
});
