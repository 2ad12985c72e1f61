// Counts are exact whatever the server's own number says, also when it was killed under a client that goes on.
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Db, MongoClient } from "mongodb";
import { TableCounts } from "./table-counts.js";

const ENGINE = fileURLToPath(new URL("./embedded/engine-main.js", import.meta.url));

const limits = () => ({ maxTimeMS: 60_000, signal: new AbortController().signal });

describe("counting a table", () => {
  let folder: string;
  let engine: { process: ChildProcess; socket: string };
  let door: Server;
  let client: MongoClient;
  let db: Db;
  let exactCounts = 0;

  /** The address of the engine stays the same for the client, whichever process is behind it. */
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "portico-counts-"));
    engine = await startEngine(join(folder, "mongodb"));
    door = createServer((socket) => joinSockets(socket, connect(engine.socket)));
    door.listen(0, "127.0.0.1");
    await once(door, "listening");
    const { port } = door.address() as AddressInfo;
    client = await MongoClient.connect(`mongodb://127.0.0.1:${port}/?directConnection=true`);
    db = client.db("counts");
    // Each of them listens.
    client.setMaxListeners(0);
  });

  afterAll(async () => {
    await client?.close();
    door?.close();
    engine?.process.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  const exactly = async (): Promise<number> => {
    exactCounts += 1;
    return (await db.collection("things").find().toArray()).length;
  };

  /** The count, and how often it took reading. */
  async function countWith(counts: TableCounts): Promise<{ count: number; read: number }> {
    exactCounts = 0;
    return { count: await counts.count("t1", "things", exactly, limits()), read: exactCounts };
  }

  it("reads once and then follows every write without reading", async () => {
    const counts = new TableCounts(db);
    const things = db.collection("things");
    await things.insertMany(Array.from({ length: 500 }, (_, n) => ({ n })));
    expect(await countWith(counts)).toEqual({ count: 500, read: 1 });
    await things.insertOne({ n: 500 });
    await things.deleteMany({ n: { $lt: 100 } });
    expect(await countWith(counts)).toEqual({ count: 401, read: 0 });
  });

  it("reads again when the collection moved while it was counted", async () => {
    const counts = new TableCounts(db);
    const moving = async (): Promise<number> => {
      await db.collection("things").insertOne({ n: 1_000 });
      return exactly();
    };
    expect(await counts.count("t1", "things", moving, limits())).toBe(402);
    expect(await countWith(counts)).toEqual({ count: 402, read: 1 });
    expect(await countWith(counts)).toEqual({ count: 402, read: 0 });
  });

  it("does not read again when a connection was closed and the server goes on", async () => {
    const counts = new TableCounts(db);
    expect(await countWith(counts)).toEqual({ count: 402, read: 1 });
    const closed = once(client, "connectionClosed");
    const work = { $sum: { $map: { input: { $range: [0, 100_000] }, in: { $mod: ["$$this", 7] } } } };
    const slow = { aggregate: "things", pipeline: [{ $addFields: { work } }], cursor: {} };
    await expect(db.command(slow, { signal: AbortSignal.timeout(100) })).rejects.toThrow();
    await closed;
    expect(await countWith(counts)).toEqual({ count: 402, read: 0 });
    expect(await counts.knows("t1")).toBe(true);
  });

  it("reads once for all who ask at once", async () => {
    const counts = new TableCounts(db);
    exactCounts = 0;
    const asked = Array.from({ length: 30 }, () => counts.count("t1", "things", exactly, limits()));
    expect(new Set(await Promise.all(asked))).toEqual(new Set([402]));
    expect(exactCounts).toBe(1);
  });

  it("counts what was written before it was asked, though somebody else has been counting for longer", async () => {
    const counts = new TableCounts(db);
    const signals = new EventEmitter();
    const [counted, mayAnswer] = [once(signals, "counted"), once(signals, "answer")];
    const first = counts.count(
      "t1",
      "things",
      async () => {
        const count = await exactly();
        signals.emit("counted");
        await mayAnswer;
        return count;
      },
      limits(),
    );
    await counted;
    const { insertedId } = await db.collection("things").insertOne({ n: 1_001 });
    const second = counts.count("t1", "things", exactly, limits());
    signals.emit("answer");
    expect([await first, await second]).toEqual([402, 403]);
    await db.collection("things").deleteOne({ _id: insertedId });
  });

  it("reads for itself when whoever was counting has been broken off", async () => {
    const counts = new TableCounts(db);
    const first = counts.count(
      "t1",
      "things",
      async () => {
        await exactly();
        throw new Error("broken off");
      },
      limits(),
    );
    const others = [
      counts.count("t1", "things", exactly, limits()),
      counts.count("t1", "things", exactly, limits()),
    ];
    await expect(first).rejects.toThrow("broken off");
    expect(await Promise.all(others)).toEqual([402, 402]);
  });

  describe("while somebody else's count takes long", () => {
    let counts: TableCounts;
    let end: () => void;
    let slow: Promise<number>;

    beforeEach(async () => {
      counts = new TableCounts(db);
      const mayEnd = new Promise<void>((resolve) => {
        end = resolve;
      });
      const signals = new EventEmitter();
      const isReading = once(signals, "reading");
      const slowly = async (): Promise<number> => {
        signals.emit("reading");
        await mayEnd;
        return exactly();
      };
      slow = counts.count("t1", "things", slowly, limits());
      await isReading;
    });
    afterEach(async () => {
      end();
      expect(await slow).toBe(402);
    });

    it("waits for a part of its time, and has the rest for reading itself", async () => {
      const [maxTimeMS, began] = [1_500, performance.now()];
      const count = await counts.count("t1", "things", exactly, { ...limits(), maxTimeMS });
      expect(count).toBe(402);
      expect(performance.now() - began).toBeGreaterThan(maxTimeMS / 4);
    });

    it("reads once for all whose time to wait is over", async () => {
      // On a busy machine it is not over at the same moment.
      const slowly = async (): Promise<number> => {
        await pause(1_000);
        return exactly();
      };
      exactCounts = 0;
      const asked = Array.from({ length: 10 }, () =>
        counts.count("t1", "things", slowly, { ...limits(), maxTimeMS: 3_000 }),
      );
      expect(new Set(await Promise.all(asked))).toEqual(new Set([402]));
      expect(exactCounts).toBe(1);
    });

    it("goes on for the others when the client of the one who reads has gone", async () => {
      const client = new AbortController();
      const brokenOff = new AbortController();
      const readsAndLeaves = async (signal?: AbortSignal): Promise<number> => {
        signal?.addEventListener("abort", () => brokenOff.abort());
        // The other one, who waits a little longer before it would read itself, waits for this reading by then.
        await pause(400);
        client.abort(new Error("the client has gone"));
        await pause(50);
        return 402;
      };
      exactCounts = 0;
      const first = counts.count("t1", "things", readsAndLeaves, { maxTimeMS: 1_500, signal: client.signal });
      const second = counts.count("t1", "things", exactly, { ...limits(), maxTimeMS: 1_800 });
      await expect(first).rejects.toThrow("the client has gone");
      expect([await second, exactCounts, brokenOff.signal.aborted]).toEqual([402, 0, false]);
    });

    it("reads anew where what is being read has just been broken off", async () => {
      const client = new AbortController();
      const leaves = async (): Promise<number> => {
        client.abort(new Error("the client has gone"));
        await pause(5_000);
        throw new Error("broken off");
      };
      exactCounts = 0;
      const first = counts.count("t1", "things", leaves, { maxTimeMS: 900, signal: client.signal });
      const second = counts.count("t1", "things", exactly, { ...limits(), maxTimeMS: 3_000 });
      await expect(first).rejects.toThrow("the client has gone");
      expect([await second, exactCounts]).toEqual([402, 1]);
    });

    it("begins nothing for a client that leaves while it is still asked what is known", async () => {
      const client = new AbortController();
      exactCounts = 0;
      const asked = counts.count("t1", "things", exactly, { maxTimeMS: 0, signal: client.signal });
      client.abort(new Error("the client has gone"));
      await expect(asked).rejects.toThrow("the client has gone");
      expect(exactCounts).toBe(0);
    });

    it("breaks a reading off when the last of those who wait for it has gone", async () => {
      const client = new AbortController();
      const isBrokenOff = new Promise<void>((resolve) => {
        const endless = (signal?: AbortSignal): Promise<number> =>
          new Promise((_resolve, reject) => {
            signal?.addEventListener("abort", () => {
              resolve();
              reject(new Error("broken off"));
            });
            client.abort(new Error("the client has gone"));
          });
        counts
          .count("t1", "things", endless, { maxTimeMS: 300, signal: client.signal })
          .catch(() => undefined);
      });
      await isBrokenOff;
    });

    it.each([
      ["is gone", 0],
      ["goes meanwhile", 50],
    ])("waits no longer when its own client %s", async (_when, afterMs) => {
      const client = new AbortController();
      const asked = counts.count("t1", "things", exactly, { ...limits(), signal: client.signal });
      const leave = () => client.abort(new Error("the client has gone"));
      if (afterMs === 0) leave();
      else setTimeout(leave, afterMs);
      await expect(asked).rejects.toThrow("the client has gone");
    });
  });

  it("reads again when the server was killed, whose own number is wrong then, and is right from there on", async () => {
    const counts = new TableCounts(db);
    const things = db.collection("things");
    expect(await countWith(counts)).toEqual({ count: 402, read: 1 });
    await things.insertMany(
      Array.from({ length: 98 }, (_, n) => ({ n })),
      { writeConcern: { w: 1, journal: true } },
    );
    engine.process.kill("SIGKILL");
    await once(engine.process, "exit");
    engine = await startEngine(join(folder, "mongodb"));
    expect(await countWith(counts)).toEqual({ count: 500, read: 1 });
    expect(await things.estimatedDocumentCount()).toBe(0);
    // What it calls 0 is not believed.
    expect(await countWith(counts)).toEqual({ count: 500, read: 1 });
    await things.insertOne({ n: 7 });
    // A difference is believed when it is found twice.
    for (const read of [1, 1, 0]) expect(await countWith(counts)).toEqual({ count: 501, read });
    await things.insertOne({ n: 8 });
    expect(await countWith(counts)).toEqual({ count: 502, read: 0 });
  });

  it("is right when more is deleted than the server knew of", async () => {
    const [counts, things] = [new TableCounts(db), db.collection("things")];
    const restart = async (): Promise<void> => {
      engine.process.kill("SIGKILL");
      await once(engine.process, "exit");
      engine = await startEngine(join(folder, "mongodb"));
    };
    const countAfter = async (change: () => Promise<unknown>): Promise<number> => {
      await change();
      return (await countWith(counts)).count;
    };
    const insert = (many: number) => () =>
      things.insertMany(
        Array.from({ length: many }, (_, n) => ({ n })),
        { writeConcern: { w: 1, journal: true } },
      );
    await insert(1_000)();
    await restart();
    // Twice, as a difference is believed then.
    for (let time = 0; time < 2; time++) expect((await countWith(counts)).count).toBe(1_502);
    expect(await countAfter(() => things.deleteMany({ n: { $lt: 400 } }))).toBe(await exactly());
    expect(await countAfter(() => things.deleteMany({}))).toBe(0);
    for (let time = 1; time <= 3; time++) expect(await countAfter(insert(2))).toBe(2 * time);
    expect(await countAfter(insert(3_000))).toBe(3_006);
    expect(await countAfter(() => things.deleteMany({ n: { $gte: 10 } }))).toBe(await exactly());
  });
});

async function startEngine(directory: string): Promise<{ process: ChildProcess; socket: string }> {
  const child = spawn(process.execPath, [ENGINE, directory], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface(child.stdout), "line");
  const { uri }: { uri: string } = JSON.parse(String(line));
  return { process: child, socket: decodeURIComponent(/^mongodb:\/\/([^/?]+)/.exec(uri)?.[1] ?? "") };
}

function joinSockets(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  one.on("error", () => {}).on("close", () => other.destroy());
  other.on("error", () => {}).on("close", () => one.destroy());
}
