// How records are read: how long the database may work for them, and what becomes of a read that it breaks off.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { type CommandStartedEvent, ReadConcern } from "mongodb";
import type { Patience, Share } from "../caller-shares.js";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Table } from "../catalog/catalog.js";
import { bareTable } from "../catalog/definition-fixture.js";
import type { Stage } from "../query/lower/document.js";
import { Stop } from "../stop.js";
import { connectStore } from "./connect.js";
import { openOn, openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { RecordStore } from "./record-store.js";

const ROWS = 1_200;
/** Longer than all commands of a quick stream together. */
const PATIENCE_MS = 60_000;

const definition = bareTable("items", { idType: "int" });

/** Costs the database about a millisecond a document, more on a machine that is slow or busy. */
const WORK = { $sum: { $map: { input: { $range: [0, 10_000] }, in: { $mod: ["$$this", 7] } } } };
const SLOW: Stage[] = [{ $match: {} }, { $project: { place: 1, work: WORK } }];

let database: TestDatabase;
let table: Table;
let commands: CommandStartedEvent[] = [];
const note = (event: CommandStartedEvent): void => void commands.push(event);

beforeAll(async () => {
  database = await openTestDatabase({ monitorCommands: true });
  const items = buildCatalog(0, [definition], []).tables.get("items");
  if (items === undefined) throw new Error("the catalog lacks its table");
  table = items;
  const documents = Array.from({ length: ROWS }, (_, at) => ({ _id: at, place: at }));
  await database.db.collection<{ _id: number }>("items").insertMany(documents);
});

afterAll(() => database?.close());

beforeEach(() => {
  commands = [];
  database.db.client.on("commandStarted", note);
});

afterEach(() => void database.db.client.off("commandStarted", note));

const storeWith = (timeoutMs: number): RecordStore => new RecordStore(database, timeoutMs);
const named = (name: string): CommandStartedEvent[] =>
  commands.filter(({ commandName }) => commandName === name);

async function readAll(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

async function countStreamed(store: RecordStore, pipeline: Stage[]): Promise<number> {
  let count = 0;
  for await (const documents of store.stream(table, pipeline)) count += documents.length;
  return count;
}

describe("a list of links", () => {
  it("lets go of ids that look like expressions", async () => {
    const lists = database.db.collection<{ _id: number; tags: string[] }>("items");
    const ids = ["$place", "$$x", "$"];
    await lists.insertOne({ _id: ROWS, tags: ["a", ...ids, "b"] });
    await storeWith(PATIENCE_MS).pull(table, { _id: ROWS }, "tags", ids);
    const [left] = await lists.find({ _id: ROWS }).toArray();
    await lists.deleteOne({ _id: ROWS });
    expect(left?.tags).toEqual(["a", "b"]);
  });

  it("is gone with its last link, as it is when a request empties it", async () => {
    const lists = database.db.collection<{ _id: number; tags: string[] }>("items");
    await lists.insertOne({ _id: ROWS, tags: ["a"] });
    await storeWith(PATIENCE_MS).pull(table, { _id: ROWS }, "tags", ["a", "b"]);
    const [left] = await lists.find({ _id: ROWS }).toArray();
    await lists.deleteOne({ _id: ROWS });
    expect(Object.keys(left ?? {})).not.toContain("tags");
  });
});

describe("the numbers of new records", () => {
  const LAST = Number.MAX_SAFE_INTEGER;

  it.each([
    [1, LAST],
    [2, LAST - 1],
    [3, LAST - 2],
  ])("reach the last safe integer, %i at once", async (count, first) => {
    const store = storeWith(PATIENCE_MS);
    const numbered = { ...table, id: `to_the_last_${count}` };
    await store.raiseSequence(numbered, first - 1);
    expect(await store.nextInSequence(numbered, count)).toBe(first);
  });

  it.each([
    [1, LAST],
    [2, LAST - 1],
    [2, LAST],
    [3, LAST - 1],
    [4, LAST - 1],
  ])("never pass it: %i at once after %i", async (count, last) => {
    const store = storeWith(PATIENCE_MS);
    const numbered = { ...table, id: `beyond_${count}_${last}` };
    await store.raiseSequence(numbered, last);
    for (const _again of [1, 2, 3])
      await expect(store.nextInSequence(numbered, count)).rejects.toThrow(
        'There are no numbers left for new records of "items".',
      );
  });
});

describe("a stream", () => {
  it.each<[string, Stage[]]>([
    ["find", [{ $match: {} }, { $sort: { place: 1 } }]],
    ["aggregate", [{ $addFields: { more: { $add: ["$place", 1] } } }]],
  ])(
    "sets no limit for its cursor, on which a server counts all batches together: %s",
    async (opening, how) => {
      expect(await countStreamed(storeWith(PATIENCE_MS), how)).toBe(ROWS);
      expect(named(opening)).toHaveLength(1);
      expect(named("getMore").map(({ command }) => command.batchSize)).toEqual([10, 500, 500, 500]);
      expect(commands.filter(({ command }) => "maxTimeMS" in command)).toEqual([]);
    },
  );

  it.each<[string, Stage[]]>([
    ["before the first document", [...SLOW, { $sort: { work: 1 } }]],
    ["later", [{ $project: { work: { $cond: [{ $lt: ["$place", 500] }, 0, WORK] } } }]],
  ])("ends when the database works too long for one batch, there too: %s", async (_when, how) => {
    await expect(countStreamed(storeWith(100), how)).rejects.toMatchObject({ code: "QUERY_TIMEOUT" });
    expect(named("killCursors")).toHaveLength(1);
    expect(await openOn(database.db, "items")).toEqual([]);
  });

  it.each<[string, Stage[]]>([
    ["find", [{ $match: { place: 1 } }]],
    ["aggregate", [{ $addFields: { more: { $add: ["$place", 1] } } }]],
  ])("reads with the concern that the database's address names: %s", async (opening, how) => {
    const { client, databaseName } = database.db;
    const db = client.db(databaseName, { readConcern: new ReadConcern("available") });
    await countStreamed(new RecordStore({ ...database, db }, PATIENCE_MS), how);
    expect(named(opening).map(({ command }) => command.readConcern)).toEqual([{ level: "available" }]);
  });

  it.each([
    ["a few where they are large", 700_000, 20, [10, 2, 2, 2, 2, 2, 2]],
    ["one where each is larger than what is held", 3_000_000, 7, [10, 1, 1, 1]],
  ])("asks for few documents at once, %s", async (_, letters, count, asked) => {
    const large = "x".repeat(letters);
    const heavy = Array.from({ length: count }, (_each, at) => ({ _id: -1 - at, large }));
    await database.db.collection<{ _id: number }>("items").insertMany(heavy);
    commands = [];
    expect(await countStreamed(storeWith(PATIENCE_MS), [{ $match: { _id: { $lt: 0 } } }])).toBe(count);
    expect(named("getMore").map(({ command }) => command.batchSize)).toEqual(asked);
    await database.db.collection<{ _id: number }>("items").deleteMany({ _id: { $lt: 0 } });
  });

  it("ends in the database when nobody waits for it any more, and costs no connection", async () => {
    const { client } = database.db;
    const [gone, stop, closed] = [new Error("gone"), new Stop(), jest.fn()];
    client.on("connectionClosed", closed);
    client.on("commandStarted", ({ commandName }) => {
      if (commandName === "getMore") setTimeout(() => stop.abort(gone), 50);
    });
    const slow = storeWith(PATIENCE_MS).stream(table, [...SLOW, { $sort: { work: 1 } }], stop);
    await expect(slow.next()).rejects.toBe(gone);
    expect(named("killCursors")).toHaveLength(1);
    expect(await openOn(database.db, "items")).toEqual([]);
    client.off("connectionClosed", closed);
    expect(closed).not.toHaveBeenCalled();
  });

  it("may take longer as a whole than a read", async () => {
    const pause = () => new Promise((resolve) => setTimeout(resolve, 150));
    let count = 0;
    for await (const { length } of storeWith(1_000).stream(table, [{ $match: {} }])) {
      count += length;
      await pause();
    }
    expect(count).toBe(ROWS);
  });
});

describe("streams that keep all connections busy", () => {
  /** Two for its requests; a third waits for one in vain. */
  const openBusy = () =>
    connectStore(process.env.MONGODB_URL ?? "", { maxPoolSize: 2, waitQueueTimeoutMS: 300 });
  const VERY_SLOW: Stage[] = [
    { $project: { work: { $sum: Array.from({ length: 20 }, () => WORK) } } },
    { $sort: { work: 1 } },
  ];
  const outcome = (read: Promise<unknown>): Promise<unknown> => read.catch(({ code }) => code);
  const openedOf = async (): Promise<number> => (await openOn(database.db, "items")).length;

  async function untilNoneIsOpen(): Promise<void> {
    for (const until = performance.now() + 5_000; (await openedOf()) > 0; await delay(50))
      if (performance.now() > until) throw new Error(`${await openedOf()} are still open`);
  }

  it("end at their limit all the same, as do those that got none, and leave nothing open", async () => {
    const store = await openBusy();
    try {
      const { client } = store;
      const records = new RecordStore({ ...store, db: client.db(database.db.databaseName) }, 1_000);
      const streams = Array.from({ length: 5 }, () => records.stream(table, VERY_SLOW).next());
      const codes = await Promise.all(streams.map(outcome));
      expect(codes.toSorted()).toEqual(
        [
          "QUERY_TIMEOUT",
          "QUERY_TIMEOUT",
          ...Array.from({ length: 3 }, () => "SERVICE_UNAVAILABLE"),
        ].toSorted(),
      );
      expect(await records.byIds(table, [1], { _id: 1 })).toEqual([{ _id: 1 }]);
      await untilNoneIsOpen();
    } finally {
      await store.close();
    }
  });

  it.each<[string, (stream: AsyncGenerator<unknown>) => Promise<unknown>]>([
    ["their clients go away between two batches", (stream) => stream.return(undefined)],
    [
      "they get none for their next batch",
      (stream) => expect(readAll(stream)).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" }),
    ],
  ])("end when %s", async (_, leave) => {
    const store = await openBusy();
    try {
      const records = new RecordStore(
        { ...store, db: store.client.db(database.db.databaseName) },
        PATIENCE_MS,
      );
      const left = records.stream(table, [{ $match: {} }]);
      await left.next();
      const stops = [new Stop(), new Stop()];
      const busy = stops.map((stop) => outcome(records.stream(table, VERY_SLOW, stop).next()));
      while ((await openedOf()) < 3) await delay(20);
      await delay(100);
      await leave(left);
      while ((await openedOf()) > 2) await delay(20);
      expect(await openedOf()).toBe(2);
      for (const stop of stops) stop.abort(new Error("gone"));
      await Promise.all(busy);
      await untilNoneIsOpen();
    } finally {
      await store.close();
    }
  });
});

it("asks for each batch of a stream as for one that may take long, however quick those before it were", async () => {
  const asked: Patience[] = [];
  const share: Share = (ask, patience) => {
    asked.push(patience);
    return ask();
  };
  for await (const _ of storeWith(PATIENCE_MS).stream(table, [{ $match: {} }], undefined, share));
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.every(({ isBatch }) => isBatch === true)).toBe(true);
});

describe("a read that nobody waits for any more", () => {
  const limited = [...SLOW, { $limit: ROWS }];
  const grouped = [...SLOW, { $group: { _id: null, work: { $sum: "$work" } } }];
  const leaving = async (
    worksOn: boolean,
    pipeline: Stage[] = limited,
    maxTimeMS = PATIENCE_MS,
  ): Promise<string[]> => {
    const events: string[] = [];
    const { client } = database.db;
    const note = ({ commandName }: { readonly commandName: string }) => void events.push(commandName);
    client.on("commandSucceeded", note);
    const store = new RecordStore(database, PATIENCE_MS, { worksOn });
    const stop = new Stop();
    const limits = { maxTimeMS, signal: stop };
    const read = store.read(table, pipeline, limits).catch(String);
    while (commands.length === 0) await delay(1);
    stop.abort(new Error("gone"));
    events.push(String(await read));
    client.off("commandSucceeded", note);
    return events;
  };

  it("is over at once", async () => {
    expect(await leaving(false)).toEqual(["Error: gone"]);
  });

  it("is over when the database is done with it, where that works on", async () => {
    expect(await leaving(true)).toEqual(["aggregate", "Error: gone"]);
  });

  it("is so also where nobody knows before how many documents it answers", async () => {
    expect(await leaving(true, grouped)).toEqual(["aggregate", "Error: gone"]);
  });

  it.each([
    ["one message", limited],
    ["a cursor", grouped],
  ])("has not taken too long where its time is over by then: %s", async (_how, pipeline) => {
    expect(await leaving(true, pipeline, 200)).toEqual(["Error: gone"]);
  });

  it("reads no more than the documents that are on their way", async () => {
    expect(await leaving(true, SLOW)).toEqual(["aggregate", "killCursors", "Error: gone"]);
    const store = new RecordStore(database, PATIENCE_MS, { worksOn: true });
    expect(await store.read(table, [{ $match: {} }, { $project: { place: 1 } }])).toHaveLength(ROWS);
  });
});

describe("an explanation", () => {
  it("tells what was read until the time that was left for it was over", async () => {
    const store = storeWith(PATIENCE_MS);
    const { documentsExamined } = await store.explain(table, SLOW, { maxTimeMS: 50, signal: new Stop() });
    expect(documentsExamined).toBeLessThan(ROWS);
  });

  it("leaves no cursor behind in the driver, which would keep its pipeline for ever", async () => {
    const store = storeWith(PATIENCE_MS);
    const broken: Stage[] = [{ $project: { place: { $divide: [1, 0] } } }];
    await store.explain(table, [{ $match: { place: 1 } }]);
    await expect(store.explain(table, broken)).rejects.toThrow();
    expect(openCursors()).toBe(0);
  });
});

/** Cursors that the driver has not let go of: it tells nobody, and keeps them where only a look inside finds them. */
function openCursors(): number {
  const cursors: unknown = Reflect.get(Reflect.get(database.db.client, "s"), "activeCursors");
  if (!(cursors instanceof Set)) throw new Error("the driver keeps its cursors somewhere else");
  return cursors.size;
}

describe("a read whose index is dropped meanwhile", () => {
  const INDEXED: Stage[] = [{ $match: { place: { $gte: 0 } } }, { $project: { place: 1, work: WORK } }];

  beforeEach(async () => {
    await database.db.collection("items").createIndex({ place: 1 });
    commands = [];
  });

  /** As soon as the database works with it. */
  async function dropOnceUsed(): Promise<void> {
    const { client, databaseName } = database.db;
    const ours = { active: true, ns: `${databaseName}.items`, planSummary: /IXSCAN/ };
    const isUsed = async (): Promise<boolean> =>
      (await client.db("admin").command({ currentOp: 1, ...ours })).inprog.length > 0;
    while (!(await isUsed())) await delay(5);
    await database.db.collection("items").dropIndex("place_1");
  }

  it("is made again", async () => {
    const dropped = dropOnceUsed();
    expect(await storeWith(PATIENCE_MS).read(table, INDEXED)).toHaveLength(ROWS);
    await dropped;
    expect(named("aggregate").length).toBe(2);
  });

  it("is made again as a stream of which nothing was handed over", async () => {
    const dropped = dropOnceUsed();
    // Its first batch alone takes longer than the index is left.
    const slow: Stage[] = [
      { $match: { place: { $gte: 0, $lt: 60 } } },
      { $project: { work: { $sum: Array.from({ length: 20 }, () => WORK) } } },
    ];
    expect(await countStreamed(storeWith(PATIENCE_MS), slow)).toBe(60);
    await dropped;
    expect(named("aggregate").length).toBe(2);
  });

  it("is refused as a stream that has begun: 503, and no document twice", async () => {
    const stream = storeWith(PATIENCE_MS).stream(table, INDEXED);
    await stream.next();
    await database.db.collection("items").dropIndex("place_1");
    await expect(readAll(stream)).rejects.toMatchObject({
      code: "SERVICE_UNAVAILABLE",
      headers: { "Retry-After": "2" },
    });
  });
});

describe("a record that would be too large", () => {
  const HALF = "x".repeat(9 * 1024 * 1024);
  const tooLarge = {
    code: "BAD_REQUEST",
    message: expect.stringMatching(/^The record would be larger than 16 MB/),
  };
  const store = () => storeWith(PATIENCE_MS);
  const large = (id: number) => ({ _id: id, one: HALF, two: HALF });

  afterEach(async () => {
    await database.db.collection<{ _id: number }>("items").deleteMany({ _id: { $lt: 0 } });
  });

  it.each([
    [
      "alone",
      () => store().insert(table, [{ _id: -1, one: HALF, two: HALF.slice(2 * 1024 * 1024 - 5_000) }]),
    ],
    ["alone and beyond what can be encoded", () => store().insert(table, [large(-1)])],
    ["with others", () => store().insert(table, [{ _id: -2 }, large(-1)])],
  ])("is not inserted, and said to be so: %s", async (_how, insert) => {
    await expect(insert()).rejects.toMatchObject(tooLarge);
    expect(await store().byIds(table, [-1], { _id: 1 })).toEqual([]);
  });

  it("is not made of a smaller one", async () => {
    await store().insert(table, [{ _id: -3, one: HALF }]);
    const change = { $set: { two: HALF } };
    await expect(store().update(table, { _id: -3 }, change)).rejects.toMatchObject(tooLarge);
    await expect(store().updateById(table, -3, change, { _id: 1 })).rejects.toMatchObject(tooLarge);
    expect(await store().byIds(table, [-3], { two: 1 })).toEqual([{ _id: -3 }]);
  });
});

describe("large documents that several ask for at once", () => {
  const ids = [-11, -12, -13];

  beforeAll(async () => {
    const text = "x".repeat(1_000_000);
    await database.db
      .collection<{ _id: number; text: string }>("items")
      .insertMany(ids.map((_id) => ({ _id, text })));
  });

  afterAll(async () => {
    await database.db.collection<{ _id: number }>("items").deleteMany({ _id: { $lt: 0 } });
  });

  it("are read once, each by its id", async () => {
    const store = storeWith(PATIENCE_MS);
    const found = await Promise.all(ids.map((id) => store.byIds(table, [id], { text: 1 })));
    expect(found.flat().map(({ _id }) => _id)).toEqual(ids);
    expect(named("find")).toHaveLength(1);
  });

  it("are left to whoever reads them some at a time", async () => {
    const store = storeWith(PATIENCE_MS);
    expect(await store.smallByIds(table, ids, { text: 1 })).toBeUndefined();
    expect(await store.smallByIds(table, ids.slice(1), { text: 1 })).toHaveLength(2);
  });
});
