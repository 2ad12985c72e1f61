// A change whose maker is stopped for so long that others take it for dead. Presence and the beats are left out.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { unavailable } from "@portico/shared/app-error";
import type { Json } from "@portico/shared/json";
import { type Db, ObjectId } from "mongodb";
import type { TableDefinition } from "../catalog/definition.js";
import { bareColumn, bareTable } from "../catalog/definition-fixture.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import type { Rule } from "../permission/rule.js";
import type { ChangeDeps } from "./change-deps.js";
import { changeTable, undoChange } from "./change-table.js";
import { endInterrupted, makeRecovery } from "./end-change.js";
import { makeInstance } from "./instance-fixture.js";

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});

afterAll(() => database.close());

const TEXT = bareColumn("a", { id: "c1" });

async function makeTable(
  { catalogStore }: ChangeDeps,
  name = "things",
  own: Partial<TableDefinition> = {},
): Promise<string> {
  const definition = bareTable(name, {
    id: new ObjectId().toHexString(),
    columns: [TEXT],
    storage: { collection: name, fields: { c1: "a" } },
    ...own,
  });
  await catalogStore.reserve(definition, { instance: "a", at: new Date() });
  await catalogStore.publish(definition, (await catalogStore.state()).version);
  return definition.id;
}

describe("an instance that wakes up in the middle of a change of a table", () => {
  it("takes nothing away that another one has put into use meanwhile", async () => {
    const [late, other] = [makeInstance(database), makeInstance(database)];
    const id = await makeTable(other);
    await db.collection("things").insertOne({ a: "1" });
    const body = { columns: [{ id: "c1", type: "int" }] };
    /** While the late one sleeps, its change is given up, made again by the other, and a value is written. */
    const begin: ChangeDeps["changes"]["begin"] = async (change) => {
      await late.changes.begin(change);
      const holder = { change: change.id, instance: late.presence.id };
      await other.changeLock.takeOver(holder, other.presence.id);
      await endInterrupted(other, { ...holder, instance: other.presence.id });
      await (await changeTable(other, id, body, undefined)).done;
      await db.collection("things").updateOne({}, { $set: { a_2: 5 } });
    };
    const made = async (): Promise<void> => {
      const deps = { ...late, changes: { ...late.changes, begin } };
      await (await changeTable(deps, id, body, undefined)).done;
    };
    await expect(made()).rejects.toMatchObject({ code: "CONFLICT" });
    const [definition] = await other.catalogStore.load();
    expect(definition?.storage.fields).toEqual({ c1: "a_2" });
    expect(await db.collection("things").findOne()).toMatchObject({ a: "1", a_2: 5 });
  });
});

describe("an instance that wakes up when its change is in use", () => {
  /** While the late one sleeps, before it takes away what nobody needs any more, the other ends its change and more. */
  async function lateInTidying(id: string, body: Json, meanwhile: (other: ChangeDeps) => Promise<void>) {
    const [late, other] = [makeInstance(database), makeInstance(database)];
    const finish: ChangeDeps["changes"]["finish"] = async (change) => {
      await late.changes.finish(change);
      const holder = { change: change.id, instance: late.presence.id };
      await other.changeLock.takeOver(holder, other.presence.id);
      await endInterrupted(other, { ...holder, instance: other.presence.id });
      await meanwhile(other);
      await late.changes.finish(change);
    };
    await (await changeTable({ ...late, changes: { ...late.changes, finish } }, id, body, undefined)).done;
  }

  it("keeps what a later change has brought back", async () => {
    const id = await makeTable(makeInstance(database), "secrets");
    await db.collection("secrets").insertOne({ a: "plain" });
    const before = makeInstance(database);
    const added = { columns: [{ id: "c1" }, { name: "b", type: "string" }] };
    await (await changeTable(before, id, added, undefined)).done;
    // A column that is missed makes it one that can be undone.
    const body = { columns: [{ id: "c1", encrypted: true }] };
    await lateInTidying(id, body, async (other) => {
      await (await undoChange(other, id)).done;
    });
    const definition = (await before.catalogStore.load()).find((each) => each.id === id);
    expect(definition?.storage.fields.c1).toBe("a");
    expect(await db.collection("secrets").findOne()).toMatchObject({ a: "plain" });
  });

  it.each([
    ["to another field", { type: "int" }],
    ["out of sight", { encrypted: true }],
  ])("takes no history %s that a later change has brought back", async (_where, other) => {
    const before = makeInstance(database);
    const id = await makeTable(before, `told_${Object.keys(other)}`);
    const added = { columns: [{ id: "c1" }, { name: "b", type: "string" }] };
    await (await changeTable(before, id, added, undefined)).done;
    const history = db.collection<{ table: string; after: object }>("_history");
    await lateInTidying(id, { columns: [{ id: "c1", ...other }] }, async (instance) => {
      await (await undoChange(instance, id)).done;
      await history.insertOne({ table: id, after: { a: "1" } });
    });
    expect(await history.findOne({ table: id })).toMatchObject({ after: { a: "1" } });
  });
});

describe("a process that dies while a change waits for it", () => {
  it("leaves what it has written in part to be taken back first: the change is refused", async () => {
    const instance = makeInstance(database);
    const id = await makeTable(instance, "halves");
    const notes = db.collection<{ instance: string; at: Date; steps: object[] }>("_unfinished");
    const freeze: ChangeDeps["changeLock"]["freeze"] = async (...table) => {
      await notes.insertOne({
        instance: "dead",
        at: new Date(),
        steps: [{ kind: "made", table: id, ids: [1] }],
      });
      return instance.changeLock.freeze(...table);
    };
    const deps = { ...instance, changeLock: { ...instance.changeLock, freeze } };
    const body = { columns: [{ id: "c1", type: "int" }] };
    await expect(changeTable(deps, id, body, undefined)).rejects.toMatchObject({ code: "CONFLICT" });
    const [definition] = (await instance.catalogStore.load()).filter((each) => each.id === id);
    expect(definition?.storage.fields).toEqual({ c1: "a" });
    expect((await instance.catalogs.refresh()).changing.size).toBe(0);
    await notes.deleteMany({});
    await (await changeTable(instance, id, body, undefined)).done;
  });
});

describe("a change that replaces an index", () => {
  it("leaves the former one where it is until it is in use", async () => {
    const instance = makeInstance(database);
    const id = await makeTable(instance, "replaced");
    await (await changeTable(instance, id, { columns: [{ id: "c1", unique: true }] }, undefined)).done;
    const uniques = async () =>
      (await db.collection("replaced").indexes()).filter(({ unique }) => unique === true);
    const [former] = await uniques();
    let meanwhile = 0;
    const publish: ChangeDeps["changeLock"]["publish"] = async () => {
      meanwhile = (await uniques()).length;
      throw unavailable("the database is away", 2);
    };
    const deps = { ...instance, changeLock: { ...instance.changeLock, publish } };
    const made = async () => (await changeTable(deps, id, { softDelete: true }, undefined)).done;
    await expect(made()).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect([meanwhile, await uniques()]).toEqual([2, [former]]);
    await (await changeTable(instance, id, { softDelete: true }, undefined)).done;
    const after = await uniques();
    expect([after.length, after[0]?.partialFilterExpression]).toEqual([
      1,
      { a: { $exists: true }, _deletedAt: { $eq: null } },
    ]);
  });
});

describe("a change that takes an index away", () => {
  it("leaves MongoDB's own of the ids, which an earlier version let a table name, and ends", async () => {
    const instance = makeInstance(database);
    const id = await makeTable(instance, "named_ids", { indexes: [["id"]] });
    await db.collection("named_ids").insertOne({ a: "1" });
    await (await changeTable(instance, id, { indexes: null }, undefined)).done;
    expect(await instance.changeLock.holder()).toBeUndefined();
    const names = (await db.collection("named_ids").indexes()).map(({ name }) => name);
    expect(names).toEqual(["_id_"]);
    expect(await db.collection("svc_table").findOne({ name: "named_ids" })).toMatchObject({
      indexes: [],
      change: { state: "done" },
    });
  });

  it("keeps another one of the same fields", async () => {
    const instance = makeInstance(database);
    const keys = { uniques: [["a", "id"]], indexes: [["a"]] };
    const id = await makeTable(instance, "alike");
    const indexes = async () =>
      (await db.collection("alike").indexes())
        .filter(({ key }) => Object.keys(key).join() === "a,_id")
        .map(({ unique = false }) => unique);
    await (await changeTable(instance, id, keys, undefined)).done;
    expect(await indexes()).toEqual([true]);
    await (await changeTable(instance, id, { uniques: [] }, undefined)).done;
    expect(await indexes()).toEqual([false]);
    await (await changeTable(instance, id, { indexes: [] }, undefined)).done;
    expect([await indexes(), await instance.changeLock.holder()]).toEqual([[], undefined]);
  });
});

describe("a change that fails when it is in use", () => {
  it("is tidied up again, and is not refused", async () => {
    const instance = makeInstance(database);
    const id = await makeTable(instance, "tidied");
    let failures = 0;
    const finish: ChangeDeps["changes"]["finish"] = async (change) => {
      failures += 1;
      if (failures === 1) throw unavailable("the database is away", 2);
      await instance.changes.finish(change);
    };
    const deps = { ...instance, changes: { ...instance.changes, finish } };
    await (await changeTable(deps, id, { columns: [{ id: "c1", unique: true }] }, undefined)).done;
    expect(await instance.changeLock.holder()).toBeUndefined();
    const shown = await db.collection("svc_table").findOne({ name: "tidied" });
    expect([shown?.columns[0].unique, shown?.change.state]).toEqual([true, "done"]);
  });
});

describe("a permission rule that is written while a change is being made", () => {
  const rule: Rule = {
    id: "r",
    roleId: null,
    table: "ruled",
    action: "read",
    filter: { a: "x" },
    fields: null,
    presets: null,
    check: null,
  };

  it("and that the change would switch off is told before, as if it had been there", async () => {
    const instance = makeInstance(database);
    const id = await makeTable(instance, "ruled");
    await db.collection("ruled").insertOne({ a: "x" });
    const stored: Rule[] = [];
    const rules = { ...instance.rules, enabled: async () => [...stored] };
    /** By then the costs have been asked, and nobody is held up but writers of the table. */
    const begin: ChangeDeps["changes"]["begin"] = async (change) => {
      await instance.changes.begin(change);
      if (stored.length === 0) stored.push(rule);
    };
    const deps = { ...instance, rules, changes: { ...instance.changes, begin } };
    const change = async (confirmed?: string) =>
      (await changeTable(deps, id, { columns: [] }, confirmed)).done;
    const hashOf = (confirmed?: string): Promise<string> =>
      change(confirmed).then(
        () => "",
        ({ details }) => details.confirmHash,
      );
    const first = await hashOf();
    await expect(change(first)).rejects.toMatchObject({
      code: "DESTRUCTIVE_CHANGE",
      messages: [
        expect.stringMatching(/not the change that was shown/),
        expect.stringMatching(/^columns\.a: /),
        expect.stringMatching(/^svc_permission\/r: .*"a"/),
      ],
    });
    const columnsNow = async () =>
      (await instance.catalogStore.load()).find((each) => each.id === id)?.columns.map(({ name }) => name);
    expect([await columnsNow(), await instance.changeLock.holder()]).toEqual([["a"], undefined]);
    const shown = (await db.collection("svc_table").findOne({ name: "ruled" }))?.change;
    expect(shown.state).toBe("failed");
    await change(shown.confirmHash);
    expect(await columnsNow()).toEqual([]);
  });
});

describe("a change whose values fill the disk", () => {
  it("is taken back, and says why", async () => {
    let batches = 0;
    const instance = makeInstance(database, async () => {
      batches += 1;
      if (batches > 1) throw unavailable("the disk is nearly full", 60);
    });
    const id = await makeTable(instance, "crowded");
    const crowded = db.collection("crowded");
    await crowded.insertMany(Array.from({ length: 1_500 }, (_, at) => ({ a: String(at) })));
    const change = async () =>
      (await changeTable(instance, id, { columns: [{ id: "c1", type: "int" }] }, undefined)).done;
    await expect(change()).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(await crowded.countDocuments({ a_2: { $exists: true } })).toBe(0);
    expect(await instance.changeLock.holder()).toBeUndefined();
    expect((await instance.catalogStore.load()).find((each) => each.id === id)?.storage.fields).toEqual({
      c1: "a",
    });
    const shown = await db.collection("svc_table").findOne({ name: "crowded" });
    expect(shown?.change).toMatchObject({ state: "failed", problem: "the disk is nearly full" });
  });
});

describe("a change whose records are asked for long", () => {
  const UNFIT = { columns: [{ id: "c1", type: "int" }] };

  /** An instance whose look at the records ends when it is told to. */
  function slow(): { deps: ChangeDeps; go: () => void } {
    const deps = makeInstance(database);
    let go = (): void => {};
    const gone = new Promise<void>((resolve) => {
      go = resolve;
    });
    const matching: ChangeDeps["data"]["matching"] = async (...asked) => {
      await gone;
      return deps.data.matching(...asked);
    };
    return { deps: { ...deps, data: { ...deps.data, matching } }, go };
  }

  const shown = async (name: string) => (await db.collection("svc_table").findOne({ name }))?.change;

  it("is shown as running meanwhile, and then as refused, with what confirms it", async () => {
    const { deps, go } = slow();
    const id = await makeTable(deps, "asked");
    await db.collection("asked").insertMany([{ a: "1" }, { a: "x" }]);
    const { done } = await changeTable(deps, id, UNFIT, undefined);
    expect(await shown("asked")).toMatchObject({ state: "running", done: 0, total: 0, finishedAt: null });
    go();
    await expect(done).rejects.toMatchObject({ code: "DESTRUCTIVE_CHANGE" });
    const { state, problem, confirmHash } = await shown("asked");
    expect([state, problem]).toEqual(["failed", expect.stringMatching(/^columns\.a: 1 of the records /)]);
    expect(await deps.changeLock.holder()).toBeUndefined();
    await (await changeTable(makeInstance(database), id, UNFIT, confirmHash)).done;
    expect(await shown("asked")).toMatchObject({ state: "done" });
    expect(await shown("asked")).not.toHaveProperty("confirmHash");
  });

  it("is made when nothing is against it", async () => {
    const { deps, go } = slow();
    const id = await makeTable(deps, "allowed");
    await db.collection("allowed").insertOne({ a: "1" });
    const { done } = await changeTable(deps, id, UNFIT, undefined);
    go();
    await done;
    expect(await shown("allowed")).toMatchObject({ state: "done" });
    expect(await db.collection("allowed").findOne()).toMatchObject({ a: "1", a_2: 1 });
  });

  it("does not run for ever when it fails before it has begun to write", async () => {
    const { deps, go } = slow();
    const id = await makeTable(deps, "uncounted");
    await db.collection("uncounted").insertOne({ a: "1" });
    const lost = unavailable("the database has gone", 2);
    const data = { ...deps.data, count: () => Promise.reject(lost) };
    const { done } = await changeTable({ ...deps, data }, id, UNFIT, undefined);
    go();
    await expect(done).rejects.toBe(lost);
    expect(await shown("uncounted")).toMatchObject({ state: "failed" });
    expect(await deps.changeLock.holder()).toBeUndefined();
  });

  it("does not run for ever when its maker dies", async () => {
    const { deps, go } = slow();
    const id = await makeTable(deps, "orphan");
    await db.collection("orphan").insertOne({ a: "1" });
    const { done } = await changeTable(deps, id, UNFIT, undefined);
    const lock = await deps.changeLock.holder();
    const other = makeInstance(database);
    const holder = { change: lock?.change ?? "", instance: deps.presence.id };
    await other.changeLock.takeOver(holder, other.presence.id);
    await endInterrupted(other, { ...holder, instance: other.presence.id });
    expect(await shown("orphan")).toMatchObject({
      state: "failed",
      problem: expect.stringMatching(/interrupted/),
    });
    go();
    await expect(done).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await db.collection("orphan").findOne()).not.toHaveProperty("a_2");
  });
});

describe("the recovery of an instance", () => {
  it("ends what it has left behind itself, and nothing that it still works on", async () => {
    const instance = makeInstance(database);
    const holder = { change: new ObjectId().toHexString(), instance: instance.presence.id };
    await instance.changeLock.take(holder);
    const recover = makeRecovery(instance);
    await instance.changesUnderWay.while(holder.change, async () => {
      expect([await recover(), await instance.changeLock.isHeld(holder)]).toEqual([false, true]);
    });
    expect([await recover(), await instance.changeLock.holder()]).toEqual([true, undefined]);
  });
});
