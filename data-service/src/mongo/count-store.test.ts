// The kept numbers of children stay exact when writes fail or their process dies.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Db, Document } from "mongodb";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Counter } from "../catalog/catalog.js";
import { HOUSES_AND_CATS } from "../catalog/definition-fixture.js";
import { CountStore } from "./count-store.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";

const catalog = buildCatalog(1, HOUSES_AND_CATS, []);

describe("numbers of children", () => {
  let database: TestDatabase;
  let db: Db;
  let store: CountStore;
  let counter: Counter;
  let now: Date;

  beforeAll(async () => {
    database = await openTestDatabase();
    db = database.db;
    const found = catalog.tables.get("cats")?.relations.get("home")?.counter;
    if (found === undefined) throw new Error("no counter");
    counter = found;
  });

  afterAll(() => database.close());

  beforeEach(async () => {
    await db.dropDatabase();
    now = new Date("2026-01-01T00:00:00Z");
    store = new CountStore(db, false, "one", () => now);
    await store.ensureIndexes();
    await db.collection<Document>("houses").insertMany([{ _id: 1 }, { _id: 2 }] as Document[]);
  });

  const addCats = (homeId: number, count: number) =>
    db.collection("cats").insertMany(Array.from({ length: count }, () => ({ homeId })));
  const numbers = async () =>
    (await db.collection("houses").find().sort({ _id: 1 }).toArray()).map(
      (house) => house[counter.column.field],
    );
  const marks = () => db.collection("_counting").countDocuments();
  const home = (id: number) => ({ counter, id });
  const failures: unknown[] = [];
  const failed = (error: unknown) => void failures.push(error);
  /** By another instance, which knows which ones have died. */
  const repair = (...dead: string[]) =>
    store.repair([counter], {
      isDead: async ({ instance }) => dead.includes(instance),
      alone: false,
      failed,
    });
  /** At the start of the only process. */
  const repairAlone = (counters: readonly Counter[]) =>
    store.repair(counters, { isDead: async () => true, alone: true, failed });
  const later = (ms: number) => {
    now = new Date(now.getTime() + ms);
  };

  it("change by what a finished write says, and zero is absence", async () => {
    await store.settle(await store.mark([home(1), home(2)]), [{ ...home(1), by: 2 }]);
    expect([await numbers(), await marks()]).toEqual([[2, undefined], 0]);
    await store.settle(await store.mark([home(1)]), [{ ...home(1), by: -2 }]);
    expect(await numbers()).toEqual([undefined, undefined]);
  });

  it.each(["countAll", "countAllAlone"] as const)(
    "of a list that another program wrote are one each, by %s, whatever else is in it",
    async (count) => {
      const lists = [[1, 1], [null, 1], [null, 2], [null], 1, null].map((homeId) => ({ homeId }));
      await db.collection("cats").insertMany(lists);
      await store[count]({ ...counter, children: { ...counter.children, list: true, isAdopted: true } });
      expect(await numbers()).toEqual([3, 1]);
    },
  );

  it.each(["countAll", "countAllAlone"] as const)(
    "of a single link that another program wrote, by %s, are those of no list",
    async (count) => {
      await db.collection("cats").insertMany([[1, 2], [1], [null], 1, null].map((homeId) => ({ homeId })));
      await store[count]({ ...counter, children: { ...counter.children, list: false, isAdopted: true } });
      expect(await numbers()).toEqual([1, undefined]);
    },
  );

  it("are counted when a write fails in the middle", async () => {
    const mark = await store.mark([home(1)]);
    await addCats(1, 3);
    await store.abandon(mark);
    expect([await numbers(), await marks()]).toEqual([[3, undefined], 0]);
  });

  it("are counted once more when a write without an answer can't come any more", async () => {
    const mark = await store.mark([home(1)]);
    await addCats(1, 1);
    later(60_000);
    await store.abandon(mark, false);
    expect(await numbers()).toEqual([1, undefined]);
    await addCats(1, 2);
    later(119_000);
    expect(await repair()).toBe(0);
    later(2_000);
    expect(await repair()).toBe(1);
    expect([await numbers(), await marks()]).toEqual([[3, undefined], 0]);
  });

  it("are counted at the start of the only process, whatever is marked", async () => {
    await store.mark([home(1), home(2)]);
    await store.mark([home(2)]);
    await addCats(2, 4);
    expect(await repairAlone([counter])).toBe(2);
    expect([await numbers(), await marks()]).toEqual([[undefined, 4], 0]);
  });

  it("are left alone beside living processes, and counted once these have died", async () => {
    await store.mark([home(1)]);
    await addCats(1, 1);
    later(121_000);
    expect(await repair("two")).toBe(0);
    expect(await numbers()).toEqual([undefined, undefined]);
    expect(await repair("one")).toBe(1);
    expect(await numbers()).toEqual([1, undefined]);
  });

  it("are left alone until the mark of an earlier version, which names no process, is two minutes old", async () => {
    await store.mark([home(1)]);
    await db.collection("_counting").updateMany({}, { $unset: { instance: "" } });
    await addCats(1, 1);
    later(119_000);
    expect(await repair("one")).toBe(0);
    later(2_000);
    expect(await repair()).toBe(1);
    expect([await numbers(), await marks()]).toEqual([[1, undefined], 0]);
  });

  it("are counted once more when nothing that a dead process has sent can still be written", async () => {
    await store.mark([home(1)]);
    await addCats(1, 1);
    expect(await repair("one")).toBe(1);
    await addCats(1, 1);
    expect(await repair("one")).toBe(0);
    later(121_000);
    expect(await repair()).toBe(1);
    expect([await numbers(), await marks()]).toEqual([[2, undefined], 0]);
  });

  it.each([
    ["before its write", 0, 11_000],
    ["after its write", 1, 11_000],
    ["so long that nothing of it is left", 0, 121_000],
  ])(
    "come out right when a process that stood still %s was taken for dead, and ends it after all",
    async (_when, written, still) => {
      const mark = await store.mark([home(1)]);
      if (written === 1) await addCats(1, 1);
      later(still);
      expect(await repair("one")).toBe(1);
      if (written === 0) await addCats(1, 1);
      await store.settle(mark, [{ ...home(1), by: 1 }]);
      expect([await numbers(), await marks()]).toEqual([[1, undefined], 0]);
    },
  );

  it("come out right when the write of a process that was taken for dead fails", async () => {
    const mark = await store.mark([home(1)]);
    expect(await repair("one")).toBe(1);
    await addCats(1, 1);
    await store.abandon(mark);
    expect([await numbers(), await marks()]).toEqual([[1, undefined], 0]);
  });

  it("are not set while another write is under way, and its change is not counted twice", async () => {
    const other = await store.mark([home(1)]);
    await addCats(1, 1);
    const recount = store.recount(home(1));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await store.settle(other, [{ ...home(1), by: 1 }]);
    expect(await recount).toBe(true);
    expect(await numbers()).toEqual([1, undefined]);
  });

  it("are not set while a process that may be dead has not been taken for it", async () => {
    const left = await store.mark([home(1)]);
    await addCats(1, 1);
    later(121_000);
    const recount = store.recount(home(1));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await numbers()).toEqual([undefined, undefined]);
    await store.settle(left, [{ ...home(1), by: 1 }]);
    expect(await recount).toBe(true);
    expect(await numbers()).toEqual([1, undefined]);
  });

  it("that begin to be kept while a write never ends are counted once it has", async () => {
    await addCats(1, 2);
    const endless = await store.mark([home(1)]);
    await store.countAll(counter);
    expect(await numbers()).toEqual([undefined, undefined]);
    await store.settle(endless, []);
    expect(await repair()).toBe(1);
    expect([await numbers(), await marks()]).toEqual([[2, undefined], 0]);
  });

  it("are counted for others where one parent can't be counted, which is told and tried again", async () => {
    // The counting of its version fails at what another program has put there.
    await db.collection<Document>("houses").updateOne({ _id: 1 } as Document, {
      $set: { [counter.version]: "text" },
    });
    await store.mark([home(1)]);
    await store.mark([home(2)]);
    await addCats(2, 1);
    expect(await repairAlone([counter])).toBe(1);
    expect([await numbers(), await marks(), failures.splice(0)]).toEqual([
      [undefined, 1],
      1,
      [expect.objectContaining({ name: "MongoServerError" })],
    ]);
  });

  it("stay as they are where a parent has no room for them, and the children are written", async () => {
    const room = 16 * 1024 * 1024 - 40;
    await db
      .collection<Document>("houses")
      .updateOne({ _id: 1 } as Document, { $set: { plan: "x".repeat(room) } });
    const deltas = [home(1), home(2)].map((parent) => ({ ...parent, by: 1 }));
    await store.settle(await store.mark([home(1), home(2)]), deltas);
    expect([await numbers(), await marks()]).toEqual([[undefined, 1], 0]);
    expect(await store.recount(home(1))).toBe(true);
  });

  it("of a relation that has gone are forgotten", async () => {
    await store.mark([home(1)]);
    await repairAlone([]);
    expect(await marks()).toBe(0);
  });

  it("are counted for all parents when they begin to be kept, wrong ones included", async () => {
    await addCats(1, 5);
    await db
      .collection<Document>("houses")
      .updateOne({ _id: 2 } as Document, { $set: { [counter.column.field]: 7 } });
    await store.countAll(counter);
    expect(await numbers()).toEqual([5, undefined]);
  });
});
