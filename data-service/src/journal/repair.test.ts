// What instances that died have announced: others tell of it, many changes at a time.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { systemClock } from "@portico/shared/clock";
import { type Collection, ObjectId } from "mongodb";
import type { Deps } from "../deps.js";
import { JournalStore } from "../mongo/journal-store.js";
import { RecordStore } from "../mongo/record-store.js";
import { createTable } from "../schema/create-table.js";
import { beforeTurn, openInstances, renameFirstColumn, type StartedInstances } from "../started-fixture.js";
import { Journal } from "./journal.js";
import { repairJournal } from "./repair.js";

let instances: StartedInstances;
let one: Deps;
let table: string;
let pending: Collection;
let journal: Collection;
let letters: Collection;

beforeAll(async () => {
  instances = await openInstances({ monitorCommands: true });
  one = await instances.start();
  const columns = [{ name: "title", type: "string" }];
  table = await createTable(one.records, { name: "letters", columns, changes: true, history: true });
  const { database } = instances;
  const { db } = database;
  pending = db.collection("_journal_pending");
  journal = db.collection("_journal");
  letters = db.collection("letters");
});

afterAll(() => instances?.close());

beforeEach(async () => {
  await pending.deleteMany({});
});

type Kind = "created" | "updated" | "deleted";

interface Announced {
  readonly at?: Date;
  readonly instance?: string;
  /** What the clock said that its ids were made by. */
  readonly by?: Date;
}

/** Says that changes are about to be made, by an instance that has died since. @returns their ids */
async function announce(
  kind: Kind,
  records: readonly ObjectId[],
  { at = new Date(0), instance = "dead", by = new Date() }: Announced = {},
): Promise<ObjectId[]> {
  const announced = records.map((record) => ({
    _id: new ObjectId(ObjectId.generate(Math.floor(by.getTime() / 1_000))),
    table,
    record,
    kind,
    by: null,
    at,
    instance,
    revision: kind === "created" ? 1 : 2,
    ...(kind === "created" ? {} : { before: {} }),
    // Whatever it builds on is the same for all that are about one life of a record.
    ...(kind === "deleted" ? { previous: record } : {}),
  }));
  await pending.insertMany(announced);
  return announced.map(({ _id }) => _id);
}

const inMs = (ms: number): Date => new Date(Date.now() + ms);

const some = (count: number): ObjectId[] => Array.from({ length: count }, () => new ObjectId());

/** Announces new records and makes them. */
async function make(records: readonly ObjectId[], announced: Announced = {}): Promise<void> {
  const changes = await announce("created", records, announced);
  await letters.insertMany(
    records.map((_id, at) => ({ _id, title: `letter ${at}`, _change: { e: changes[at], n: 1 } })),
  );
}

/** What was told of these records, the first first. */
async function toldOf(records: readonly ObjectId[]): Promise<string[]> {
  const found = await journal.find({ record: { $in: [...records] } }, { sort: { _id: 1 } }).toArray();
  return found.map(({ record, kind }) => `${kind} ${records.findIndex((each) => each.equals(record))}`);
}

describe("what an instance has announced that died since", () => {
  it("is told of in pieces: a thousand records don't take a thousand questions", async () => {
    const [made, unmade] = [some(500), some(500)];
    await make(made);
    await announce("created", unmade);
    const { database } = instances;
    const { db } = database;
    const journalStore = new JournalStore(db, false, false, systemClock.now);
    const store = new RecordStore(database, 15_000);
    const { logger } = one;
    const watched = new Journal({ journal: journalStore, store, logger, published: () => {} });
    let commands = 0;
    db.client.on("commandStarted", () => {
      commands += 1;
    });
    const asked: string[] = [];
    const lives = (instance: string): Promise<boolean> => {
      asked.push(instance);
      return one.records.instances.lives(instance);
    };
    await repairJournal({ ...one.records, journal: watched, instances: { lives } }, { alone: false });
    expect(commands).toBeLessThan(100);
    expect(asked).toEqual(["dead"]);
    expect(await toldOf(made)).toEqual(made.map((_, at) => `created ${at}`));
    expect(await toldOf(unmade)).toEqual([]);
    const history = instances.database.db.collection("_history");
    expect(await history.countDocuments({ record: { $in: made } })).toBe(500);
    expect(await pending.countDocuments()).toBe(0);
  });

  it("is looked at a few changes at a time where these are large", async () => {
    const records = some(30);
    await announce("updated", records);
    await pending.updateMany({}, { $set: { before: { title: "x".repeat(2 * 1024 * 1024) } } });
    const lengths: number[] = [];
    const journal = {
      repair: (...asked: Parameters<Journal["repair"]>) => {
        lengths.push(asked[0].length);
        return one.records.journal.repair(...asked);
      },
    };
    await repairJournal({ ...one.records, journal }, { alone: true });
    expect(lengths).toEqual([7, 7, 7, 7, 2]);
    expect(await pending.countDocuments()).toBe(0);
  });

  it("is told of in its order where it is about one record, and only as far as it was made", async () => {
    const [changed, gone, other] = some(3);
    if (changed === undefined || gone === undefined || other === undefined) throw new Error("no ids");
    await make([changed, gone]);
    await repairJournal(one.records, { alone: true });
    // Two were about to change the same record, and two to delete the same one; of each, one did.
    const [, last] = [...(await announce("updated", [changed])), ...(await announce("updated", [changed]))];
    await letters.updateOne({ _id: changed }, { $set: { title: "new", _change: { e: last, n: 2 } } });
    await announce("deleted", [gone]);
    await announce("deleted", [gone]);
    await letters.deleteOne({ _id: gone });
    await make([other]);
    await announce("deleted", [other]);
    await repairJournal(one.records, { alone: true });
    const told = await toldOf([changed, gone, other]);
    expect(told.filter((each) => each.endsWith("0"))).toEqual(["created 0", "updated 0"]);
    expect(told.filter((each) => each.endsWith("1"))).toEqual(["created 1", "deleted 1"]);
    expect(told.filter((each) => each.endsWith("2"))).toEqual(["created 2"]);
    expect(await pending.countDocuments()).toBe(0);
  });

  it("is told of once where several look at the same time", async () => {
    const other = await instances.start();
    const [made, gone] = [some(300), some(50)];
    await make([...made, ...gone]);
    await announce("deleted", gone);
    await letters.deleteMany({ _id: { $in: gone } });
    await Promise.all([one, other].map(({ records }) => repairJournal(records, { alone: true })));
    expect((await toldOf(made)).toSorted()).toEqual(made.map((_, at) => `created ${at}`).toSorted());
    expect((await toldOf(gone)).toSorted()).toEqual(gone.map((_, at) => `deleted ${at}`).toSorted());
    const kept = await instances.database.db.collection("_history").countDocuments({ record: { $in: made } });
    expect([kept, await pending.countDocuments()]).toEqual([300, 0]);
  });

  it("waits where the database may still do it, also beside what is told", async () => {
    const [made, late] = [some(2), some(2)];
    await make(made);
    const changes = await announce("created", late, { at: inMs(-30_000) });
    await repairJournal(one.records, { alone: false });
    expect(await toldOf(made)).toHaveLength(2);
    expect((await pending.find().toArray()).map(({ _id }) => _id)).toEqual(changes);
  });

  it("waits for it also where the record was changed in a time to come, which the next change is of then", async () => {
    const changes = await announce("updated", some(2), { at: inMs(3_600_000) });
    await repairJournal(one.records, { alone: false });
    expect((await pending.find().toArray()).map(({ _id }) => _id)).toEqual(changes);
  });

  it("is forgotten where it was announced by a clock that was wrong, or nobody else can be at work", async () => {
    const ahead = inMs(3_600_000);
    await announce("updated", some(2), { at: ahead, by: ahead });
    await repairJournal(one.records, { alone: false });
    expect(await pending.countDocuments()).toBe(0);
    await announce("updated", some(2), { at: inMs(-30_000) });
    await repairJournal(one.records, { alone: true });
    expect(await pending.countDocuments()).toBe(0);
  });

  it("is told of where it is one's own, and was left a minute ago", async () => {
    const [made, underWay] = [some(2), some(2)];
    const { id: instance } = one.records.presence;
    await make(made, { instance, at: inMs(-61_000) });
    await make(underWay, { instance, at: inMs(-30_000) });
    await repairJournal(one.records, { alone: false });
    expect([await toldOf(made), await toldOf(underWay)]).toEqual([["created 0", "created 1"], []]);
  });

  it("lets a change of a table pass between two pieces", async () => {
    const other = await instances.start();
    const records = some(600);
    await make(records);
    let told = 0;
    beforeTurn(one.records, 2, async () => {
      await renameFirstColumn(other, table, "heading");
      told = (await toldOf(records)).length;
    });
    await repairJournal(one.records, { alone: true });
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThan(600);
    expect(await toldOf(records)).toHaveLength(600);
  });
});
