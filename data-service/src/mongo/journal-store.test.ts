// The journal in the database: numbered without gaps, pruned, and with the indexes it needs.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type CommandStartedEvent, type Db, type Document, ObjectId } from "mongodb";
import type { Entry } from "../journal/entry.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { JournalStore, type Lives } from "./journal-store.js";

describe("the journal", () => {
  let database: TestDatabase;
  let db: Db;
  let now: Date;
  let store: JournalStore;

  beforeAll(async () => {
    database = await openTestDatabase({ monitorCommands: true });
    db = database.db;
  });

  afterAll(() => database.close());

  beforeEach(async () => {
    await db.dropDatabase();
    now = new Date("2026-01-01T00:00:00Z");
    store = instance();
    await store.ensureIndexes();
  });

  const instance = () => new JournalStore(db, false, false, () => now);
  const entry = (more: Partial<Entry> = {}): Entry => ({
    id: new ObjectId(),
    table: "t",
    record: 1,
    kind: "updated",
    revision: 2,
    by: null,
    at: now,
    ...more,
  });
  const written = async (by: JournalStore, entries: readonly Entry[]) => (await by.append(entries)).written;
  const page = async (lives: Lives, skip: number, limit: number): Promise<number[]> => {
    const revisions: number[] = [];
    for await (const { revision } of store.historyOf(lives, { skip, limit })) revisions.push(revision);
    return revisions;
  };
  /** What the history is asked meanwhile. */
  const commandsOf = async (act: () => Promise<void>): Promise<Document[]> => {
    const asked: Document[] = [];
    const note = ({ command: { find, aggregate, ...rest } }: CommandStartedEvent): void => {
      const { filter, sort, skip, limit, pipeline } = rest;
      if (find === "_history") asked.push({ find, filter, sort, skip, limit });
      if (aggregate === "_history") asked.push({ aggregate, pipeline, cursor: {} });
    };
    db.client.on("commandStarted", note);
    await act().finally(() => db.client.off("commandStarted", note));
    return asked;
  };
  const docsExamined = async (explain: Document): Promise<number> => {
    const report = JSON.stringify(await db.command({ explain, verbosity: "executionStats" }));
    return Number(/"totalDocsExamined":(\d+)/.exec(report)?.[1]);
  };
  const wait = (ms: number): void => {
    now = new Date(now.getTime() + ms);
  };

  it("goes on behind what others have written and pruned, also for an instance that was silent for long", async () => {
    const silent = instance();
    await silent.append([entry()]);
    await store.append([entry(), entry(), entry()]);
    const place = await store.tip();
    await store.prune(new Date(now.getTime() + 1), 1);
    wait(61_000);
    const late = entry();
    await silent.append([late]);
    expect((await store.read(place, 10))?.map(({ entry: { id } }) => id)).toEqual([late.id]);
  });

  it("keeps the last entry from before, of which a follower may have been told a moment ago", async () => {
    await store.append([entry(), entry()]);
    const place = await store.tip();
    wait(61_000);
    const young = entry();
    await store.append([young]);
    await store.prune(now, 10);
    expect((await store.read(place, 10))?.map(({ entry: { id } }) => id)).toEqual([young.id]);
    await store.prune(new Date(now.getTime() + 1), 0);
    expect(await store.read(place, 10)).toBeDefined();
  });

  it("has one deletion of what is one life of a record, and one of each of its lives", async () => {
    const [first, second] = [new ObjectId(), new ObjectId()];
    const deletion = (previous: ObjectId | null) => entry({ kind: "deleted", previous });
    const [once, twice, again, unknown] = [first, first, second, null].map(deletion);
    if (!once || !twice || !again || !unknown) throw new Error("four were made");
    expect(await written(store, [once])).toEqual([once]);
    expect(await written(instance(), [twice, again, unknown])).toEqual([again, unknown]);
  });

  it("says which entries nobody has written before, also where they are few of many", async () => {
    const [first, second, third, fourth] = [entry(), entry(), entry(), entry()];
    await store.append([second]);
    await instance().append([fourth]);
    const { written: there, added } = await store.append([first, second, third, fourth, third]);
    expect(there).toEqual([first, second, third, fourth, third]);
    expect([...added]).toEqual([first, third]);
  });

  it("tells ids apart that differ by their kind alone, also where others have taken its numbers", async () => {
    const deletions = [5, "5"].map((record) => entry({ kind: "deleted", record, previous: null }));
    await store.append([entry()]);
    await instance().append([entry()]);
    expect(await written(store, deletions)).toEqual(deletions);
  });

  it("gives up the index by which an id was deleted once for all its lives", async () => {
    const former = { unique: true, partialFilterExpression: { kind: "deleted" } };
    await db.collection("_journal").createIndex({ table: 1, record: 1 }, former);
    await Promise.all([store.ensureIndexes(), instance().ensureIndexes()]);
    const lives = [new ObjectId(), new ObjectId()].map((previous) => entry({ kind: "deleted", previous }));
    expect(await written(store, lives)).toEqual(lives);
  });

  it("keeps the indexes by which a history is read newest first, and deletions are found, and no former one", async () => {
    const former = { table: 1, record: 1, revision: -1 } as const;
    await db.collection("_history").createIndex(former);
    await Promise.all([store.ensureIndexes(), instance().ensureIndexes()]);
    const indexes = await db.collection("_history").indexes();
    expect(indexes.map(({ key }) => key)).toEqual([
      { _id: 1 },
      { table: 1, record: 1, at: -1, revision: -1, _id: -1 },
      { table: 1, record: 1, at: -1 },
    ]);
  });

  it("finds the present life of a record without reading what was written of it", async () => {
    const life = (kind: Entry["kind"]): Entry => {
      wait(1);
      return entry({ kind });
    };
    await store.keep([life("created"), life("updated"), life("deleted"), life("created")]);
    const since = new Date(now.getTime() - 1);
    await store.keep(Array.from({ length: 200 }, () => life("updated")));
    const latest = await store.latestOf("t", 1);
    const lives = await Promise.all(
      (["present", "all"] as const).map((which) => store.livesOf("t", 1, which, latest)),
    );
    expect(lives.map(({ after }) => after)).toEqual([since, undefined]);
    expect(await Promise.all(lives.map((each) => store.countHistoryOf(each)))).toEqual([201, 204]);
    const asked = { table: "t", record: 1, kind: "deleted" };
    const explain = await db
      .collection("_history")
      .find(asked)
      .sort({ at: -1 })
      .limit(1)
      .explain("executionStats");
    expect(explain.executionStats).toMatchObject({ totalDocsExamined: 1, totalKeysExamined: 1 });
    expect(await store.livesOf("t", 2, "present", latest)).toMatchObject({ table: "t", record: 2 });
  });

  it("tells of a record up to a change, also of several at one time", async () => {
    const change = (revision: number): Entry => entry({ revision });
    await store.keep([change(1), change(2)]);
    wait(1);
    await store.keep([change(3), change(4)]);
    const latest = await store.latestOf("t", 1);
    expect(latest).toEqual({ at: now, revision: 4 });
    await store.keep([change(5), change(6)]);
    wait(1);
    await store.keep([change(7), entry({ record: 2, revision: 1 })]);
    const lives = await store.livesOf("t", 1, "present", latest);
    const told = async (skip: number, limit: number) => (await page(lives, skip, limit)).join();
    expect([await told(0, 10), await store.countHistoryOf(lives)]).toEqual(["4,3,2,1", 4]);
    const pages = [
      [0, 1],
      [1, 1],
      [1, 2],
      [2, 1],
      [0, 2],
      [0, 3],
      [3, 5],
      [4, 1],
      [9, 1],
    ] as const;
    const parts = await Promise.all(pages.map(([skip, limit]) => told(skip, limit)));
    expect(parts).toEqual(["4", "3", "3,2", "2", "4,3", "4,3,2", "1", "", ""]);
    const none = await store.livesOf("t", 3, "present", await store.latestOf("t", 3));
    await store.keep([entry({ record: 3 })]);
    expect(await store.countHistoryOf(none)).toBe(0);
  });

  it("tells nothing of a record that has gone since", async () => {
    await store.keep([entry()]);
    const latest = await store.latestOf("t", 1);
    await store.keep([entry({ kind: "deleted", revision: 3 })]);
    const lives = await store.livesOf("t", 1, "present", latest);
    expect([await page(lives, 0, 10), await store.countHistoryOf(lives)]).toEqual([[], 0]);
  });

  it("counts a history, and skips what is before a page of it, without reading entries", async () => {
    const change = (revision: number): Entry => entry({ revision, at: new Date(now.getTime() + revision) });
    await store.keep([
      entry({ kind: "deleted", revision: 1 }),
      ...Array.from({ length: 300 }, (_, at) => change(at + 2)),
    ]);
    const latest = await store.latestOf("t", 1);
    for (const which of ["all", "present"] as const) {
      const lives = await store.livesOf("t", 1, which, latest);
      const asked = await commandsOf(async () => {
        expect(await page(lives, 200, 3)).toEqual([101, 100, 99]);
        await store.countHistoryOf(lives);
      });
      const read = await Promise.all(asked.map(docsExamined));
      expect(read.reduce((sum, each) => sum + each)).toBe(3);
    }
  });

  it("lets values be taken out of all that it knows of the records of a table", async () => {
    const values = { before: { a: "old", b: "kept" }, after: { a: "new", b: "kept" } };
    const [ours, others] = [entry(values), entry({ ...values, table: "u" })];
    await store.announce([ours, others].map((each) => ({ ...each, instance: "i" })));
    await store.append([ours, others]);
    await store.keep([ours, others]);
    await store.forgetValues("t", ["a"]);
    const without = { before: { b: "kept" }, after: { b: "kept" } };
    const left = { t: without, u: values };
    for (const name of ["_journal_pending", "_journal"]) expect(await valuesIn(name)).toEqual(left);
    // The history keeps only what has changed.
    expect(await valuesIn("_history")).toEqual({
      t: { before: {}, after: {} },
      u: { before: { a: "old" }, after: { a: "new" } },
    });
  });

  it("lets values count as those of another field, of one table and where they are", async () => {
    const values = { before: { a_2: 1, b: "kept" }, after: { a_2: 2, b: "kept" } };
    const [ours, others] = [entry(values), entry({ ...values, table: "u" })];
    await store.append([ours, others]);
    await store.keep([ours, others]);
    const earlier = entry({ table: "t", before: { a: "1" }, after: { a: "2" } });
    await store.keep([earlier]);
    for (const _again of [1, 2]) await store.moveValues("t", new Map([["a_2", "a"]]));
    expect(await valuesIn("_journal")).toEqual({
      t: { before: { a: 1, b: "kept" }, after: { a: 2, b: "kept" } },
      u: values,
    });
    const kept = await db.collection("_history").find({ table: "t" }).sort({ _id: 1 }).toArray();
    expect(kept.map(({ before, after }) => [before, after])).toEqual([
      [{ a: 1 }, { a: 2 }],
      [{ a: "1" }, { a: "2" }],
    ]);
    expect((await valuesIn("_history")).u).toEqual({ before: { a_2: 1 }, after: { a_2: 2 } });
  });

  it("forgets the history of a table that is gone, and of no other", async () => {
    const entries = [entry(), entry({ table: "u" })];
    await store.append(entries);
    await store.keep(entries);
    await store.forgetTable("t");
    expect(Object.keys(await valuesIn("_history"))).toEqual(["u"]);
    expect(Object.keys(await valuesIn("_journal"))).toEqual(["t", "u"]);
  });

  /** What a collection holds of the records, by table. */
  async function valuesIn(name: string): Promise<Record<string, unknown>> {
    const found = await db.collection(name).find().sort({ table: 1 }).toArray();
    return Object.fromEntries(found.map(({ table, before, after }) => [table, { before, after }]));
  }
});

describe("the number that the next entry of a cluster gets", () => {
  it("follows the last one that can't be rolled back", async () => {
    const database = await openTestDatabase({ monitorCommands: true });
    try {
      const asked: unknown[] = [];
      database.db.client.on("commandStarted", ({ commandName, command }) => {
        if (commandName === "find" && command.find === "_journal") asked.push(command.readConcern);
      });
      await new JournalStore(database.db, true, false, () => new Date(0)).ensureIndexes();
      expect(asked).toEqual([{ level: "majority" }]);
    } finally {
      await database.close();
    }
  });
});
