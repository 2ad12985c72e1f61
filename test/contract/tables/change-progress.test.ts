// Contract 6: a change that takes long is answered before it is done; what it took away goes for good after 30 days.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Api, asAdmin } from "../../support/api.js";
import { REPAIRING_OFTEN, type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row, valuesOf } from "../records/make.js";
import { columnsWith, tableNamed } from "./change.js";

let stack: Stack;
let admin: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack({ env: { SCHEMA_CHANGE_WAIT_MS: "0", ...REPAIRING_OFTEN } });
  admin = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
});

afterAll(async () => {
  await client.close();
  await stack.stop();
});

/** A change gives way to who asks without a pause. */
const LOOK_MS = 20;

const TEXT = { columns: [{ name: "a", type: "string" }] };

async function table(name: string, records: readonly object[]): Promise<Row> {
  const made = await makeTable(admin, { name, ...TEXT });
  const { status } = await admin.post(`/${name}`, records, { fields: "id" });
  expect(status).toBe(201);
  return made;
}

/** The record of the table once no change of it is going on. */
function settled(name: string): Promise<Row> {
  return until(
    () => tableNamed(admin, name),
    (row) => row !== undefined && row.change !== null && row.change.state !== "running",
  );
}

describe("a change that takes longer than its answer waits", () => {
  it("is answered with 202; the table's record shows how far it is, and then that it is done", async () => {
    const records = Array.from({ length: 1000 }, (_, at) => ({ a: String(at) }));
    const made = await table("slow", records);
    await admin.post("/slow", records, { fields: "id" });
    const seen: Row[] = [];
    const { status } = await admin.patch(`/svc_table/${made.id}`, {
      columns: columnsWith(made, "a", { type: "int" }),
    });
    expect(status).toBe(202);
    for (; seen.at(-1)?.state !== "done"; await delay(LOOK_MS)) {
      const { change } = await tableNamed(admin, "slow");
      if (change !== null) seen.push(change);
    }
    // One that is still checked after two seconds shows no total yet.
    const running = seen.filter(({ state, total }) => state === "running" && total > 0);
    expect(running.length).toBeGreaterThan(0);
    for (const { done, total, finishedAt } of running) {
      expect([done <= total, total, finishedAt]).toEqual([true, 2000, null]);
    }
    expect(running.map(({ done }) => done)).toEqual(
      running.map(({ done }) => done).toSorted((a, b) => a - b),
    );
    expect(seen.at(-1)).toMatchObject({ state: "done", done: 2000, total: 2000, problem: null });
    expect((await valuesOf(admin, "slow", "a")).length).toBe(2000);
  });

  it("is told of by its answer, and not the one before; also while children are counted", async () => {
    await makeTable(admin, { name: "houses", idType: "int" });
    const relation = { name: "home", type: "many-to-one", table: "houses", inverse: "cats", counted: true };
    const { id, relations } = await makeTable(admin, { name: "cats", relations: [relation] });
    await admin.post("/houses", Array(300).fill({}), { fields: "id" });
    const homes = Array.from({ length: 300 }, (_, at) => ({ home: at + 1 }));
    expect((await admin.post("/cats", homes, { fields: "id" })).status).toBe(201);
    const counted = (to: boolean) =>
      admin.patch(`/svc_table/${id}`, { relations: [{ id: relations[0].id, counted: to }] });
    await counted(false);
    const { change: former } = await settled("cats");
    const { status, body } = await counted(true);
    const seen: Row[] = [body.data[0].change];
    for (; seen.at(-1)?.state === "running"; await delay(LOOK_MS))
      seen.push((await tableNamed(admin, "cats")).change);
    expect([status, seen[0]?.state, seen.some(({ id: each }) => each === former.id)]).toEqual([
      202,
      "running",
      false,
    ]);
    expect(seen.some(({ state, done, total }) => state === "running" && done > 0 && done < total)).toBe(true);
    expect(seen.at(-1)).toMatchObject({ state: "done", problem: null });
    // Two changes, each of which takes long on purpose: a slow machine needs 20 s when it is alone.
  }, 180_000);

  it("that fails says why, and has changed nothing", async () => {
    const made = await table("failing", [{ a: "2024-05-31T10:00:00Z" }, { a: "2024-05-31T12:00:00+02:00" }]);
    const columns = columnsWith(made, "a", { type: "datetime", unique: true });
    expect((await admin.patch(`/svc_table/${made.id}`, { columns })).status).toBe(202);
    const { change, columns: now } = await settled("failing");
    expect([change.state, now]).toEqual(["failed", made.columns]);
    expect(change.problem).toMatch(/^a: 2 of the records would share their value/);
  });

  it("that fails is in the log with its request, its table and its own id", async () => {
    const made = await table("logged", [{ a: "2024-05-31T10:00:00Z" }, { a: "2024-05-31T12:00:00+02:00" }]);
    const columns = columnsWith(made, "a", { type: "datetime", unique: true });
    const { status, headers } = await admin.patch(`/svc_table/${made.id}`, { columns });
    expect(status).toBe(202);
    const isIts = (line: string) =>
      line.includes("a change of a table has failed") && line.includes(String(made.id));
    const line = await until(() => stack.dataService.log().split("\n").find(isIts));
    expect(JSON.parse(line ?? "")).toMatchObject({
      level: "error",
      correlationId: headers.get("x-correlation-id"),
      table: made.id,
      change: expect.stringMatching(/^[0-9a-f]{24}$/),
    });
  });
});

const restart = async (): Promise<void> => {
  await stack.dataService.stop();
  await stack.restartDataService();
};

describe("a table whose making was interrupted", () => {
  it("is given up at the next start when a rename has taken its name since", async () => {
    const made = await table("renamed", [{ a: "x" }]);
    const { id: _id, createdAt: _createdAt, updatedAt: _updatedAt, change: _change, ...definition } = made;
    const storage = {
      collection: "wanted",
      fields: Object.fromEntries(made.columns.map(({ id }: Row) => [id, "a"])),
    };
    const reserved = { _id: new ObjectId(), ...definition, name: "wanted", storage };
    const making = client.db().collection<{ _id: string; table: object }>("_making");
    await making.insertOne({
      _id: "wanted",
      table: { ...reserved, createdAt: new Date(), updatedAt: new Date() },
    });
    await admin.patch(`/svc_table/${made.id}`, { name: "wanted" });
    await settled("wanted");
    await restart();
    expect((await tableNamed(admin, "wanted")).id).toBe(made.id);
    expect(await valuesOf(admin, "wanted", "a")).toEqual(["x"]);
    expect(await making.countDocuments()).toBe(0);
  });
});

describe("a table whose maker is gone", () => {
  it("is finished by an instance that runs; one whose maker lives is left to it", async () => {
    const { name: _name, id: _id, change: _change, ...definition } = await table("like", [{ a: "x" }]);
    const [{ _id: living } = { _id: "" }] = await client
      .db()
      .collection<{ _id: string }>("_instances")
      .find()
      .toArray();
    const old = new Date(Date.now() - 30_000);
    const reserve = (name: string, by: string) => ({
      _id: name,
      by,
      table: {
        ...definition,
        _id: new ObjectId(),
        name,
        createdAt: old,
        updatedAt: old,
        storage: { collection: name, fields: {} },
        columns: [],
      },
    });
    const making = client.db().collection<{ _id: string }>("_making");
    await making.insertMany([reserve("orphaned", "gone"), reserve("slowly", living)]);
    await until(
      () => admin.get("/orphaned"),
      ({ status }) => status === 200,
      20_000,
    );
    expect((await admin.post("/orphaned", {})).status).toBe(201);
    expect((await admin.get("/slowly")).status).toBe(404);
    expect(await making.distinct("_id")).toEqual(["slowly"]);
    await making.deleteMany({});
  });
});

describe("a change that can't be ended", () => {
  it("does not keep the service from starting, and is tried again", async () => {
    await table("served", [{ a: "x" }]);
    const _id = new ObjectId();
    const broken = { name: "broken", columns: [{ id: "c1", name: "a" }], relations: [], uniques: [] };
    const storage = { collection: "broken", fields: {} };
    const changes = client.db().collection("_changes");
    await changes.insertOne({
      _id,
      table: "",
      removed: [],
      before: [],
      undoable: false,
      undoes: null,
      at: new Date(),
      after: [{ id: new ObjectId().toHexString(), ...broken, storage }],
      state: "preparing",
    });
    const versions = client.db().collection<{ _id: string }>("_versions");
    const lock = { change: _id, instance: "gone", published: true };
    await versions.updateOne({ _id: "catalog" }, { $set: { lock } });
    await restart();
    expect(await valuesOf(admin, "served", "a")).toEqual(["x"]);
    // Put right by hand, it is ended without another start.
    await changes.updateOne({ _id }, { $set: { after: [], table: new ObjectId().toHexString() } });
    const ended = async () => (await versions.findOne({ _id: "catalog", lock: { $exists: false } })) !== null;
    await until(ended);
    expect(await changes.findOne({ _id })).toMatchObject({ state: "done" });
  });
});

describe("the filling of searchable columns", () => {
  it("makes the index that searches need, and no other: a change may have dropped that a moment ago", async () => {
    const columns = [{ name: "a", type: "string", unique: true, searchable: true }];
    await makeTable(admin, { name: "searched", columns });
    const searched = client.db().collection("searched");
    await Promise.all(["a_1", "_g_a_1"].map((name) => searched.dropIndex(name)));
    await restart();
    const names = async () => (await searched.indexes()).map(({ name }) => name);
    await until(names, (all) => all.includes("_g_a_1"));
    expect(await names()).not.toContain("a_1");
  });
});

describe("what a change took away", () => {
  const days = (count: number) => new Date(Date.now() - count * 24 * 60 * 60 * 1000);
  /** As if all changes of a table had been made so long ago. */
  const age = (id: string, at: Date) =>
    client.db().collection("_changes").updateMany({ table: id }, { $set: { at } });
  /** The documents of a collection, with all that lies in them. */
  const stored = (name: string) => client.db().collection(name).find().toArray();

  async function confirmed(id: string, body: object, name: string): Promise<void> {
    const { body: refused } = await admin.patch(`/svc_table/${id}`, body);
    const confirm = refused.error.details.confirmHash;
    expect((await admin.patch(`/svc_table/${id}`, body, { confirm })).status).toBe(202);
    await settled(name);
  }

  it("lies there for 30 days, and is gone afterwards, the rest untouched", async () => {
    const [recent, old] = [await table("recent", [{ a: "x" }]), await table("old", [{ a: "x" }])];
    for (const { id, name } of [recent, old]) {
      await confirmed(id, { columns: [] }, name);
    }
    await age(recent.id, days(29));
    await age(old.id, days(32));
    await restart();
    await until(async () => (await stored("old"))[0]?.a === undefined);
    expect((await stored("recent"))[0]?.a).toBe("x");
    expect((await admin.send("POST", `/svc_table/${old.id}/undo`)).status).toBe(409);
    expect((await admin.send("POST", `/svc_table/${recent.id}/undo`)).status).toBe(202);
    await until(async () => (await tableNamed(admin, "recent")).columns.length === 1);
    expect(await valuesOf(admin, "recent", "a")).toEqual(["x"]);
    expect((await stored("old")).length).toBe(1);
  });

  it("is gone afterwards from the history as well", async () => {
    const columns = [{ name: "a", type: "string" }];
    const made = await makeTable(admin, { name: "told", columns, history: true });
    await make(admin, "told", { a: "x" });
    const entry = () => client.db().collection("_history").findOne({ table: made.id });
    expect((await entry())?.after.a).toBe("x");
    await confirmed(made.id, { columns: [] }, "told");
    await age(made.id, days(32));
    await restart();
    await until(async () => (await stored("told"))[0]?.a === undefined);
    await until(async () => (await entry())?.after.a === undefined);
  });

  it("lies there for a day more, when nobody can bring it back", async () => {
    const [late, old] = [await table("late", [{ a: "x" }]), await table("older", [{ a: "x" }])];
    for (const { id, name } of [late, old]) await confirmed(id, { columns: [] }, name);
    await age(late.id, new Date(days(31).getTime() + 60 * 60 * 1000));
    await age(old.id, days(32));
    await restart();
    await until(async () => (await stored("older"))[0]?.a === undefined);
    expect((await admin.send("POST", `/svc_table/${late.id}/undo`)).status).toBe(409);
    expect((await stored("late"))[0]?.a).toBe("x");
  });

  it("is left to the instance that sweeps it already, unless that began an hour ago", async () => {
    const [busy, left] = [await table("busy", [{ a: "x" }]), await table("left", [{ a: "x" }])];
    for (const { id, name } of [busy, left]) await confirmed(id, { columns: [] }, name);
    const minutesAgo = (count: number) => new Date(Date.now() - count * 60 * 1000);
    const swept = (id: string, sweptAt: Date) =>
      client
        .db()
        .collection("_changes")
        .updateMany({ table: id }, { $set: { state: "sweeping", sweptAt, at: days(32) } });
    await swept(busy.id, minutesAgo(50));
    await swept(left.id, minutesAgo(70));
    await restart();
    await until(async () => (await stored("left"))[0]?.a === undefined);
    expect((await stored("busy"))[0]?.a).toBe("x");
  });

  it("is not taken from a table where it is in use again", async () => {
    const made = await table("again", [{ a: "x" }]);
    await confirmed(made.id, { columns: [] }, "again");
    await admin.send("POST", `/svc_table/${made.id}/undo`);
    await until(async () => (await tableNamed(admin, "again")).columns.length === 1);
    await settled("again");
    await age(made.id, days(31));
    await restart();
    await until(
      async () => (await client.db().collection("_changes").countDocuments({ table: made.id })) === 0,
    );
    expect(await valuesOf(admin, "again", "a")).toEqual(["x"]);
  });

  /** Undoes a change that took away a column. */
  async function undone(id: string, name: string, column: string): Promise<void> {
    expect((await admin.send("POST", `/svc_table/${id}/undo`)).status).toBe(202);
    await until(
      () => tableNamed(admin, name),
      ({ columns }) => columns.some((each: Row) => each.name === column),
    );
    await settled(name);
  }

  /** A table whose `a` was converted and whose `b` was removed; only `b` came back, since `a` was changed again. */
  async function backInPart(name: string): Promise<Row> {
    const columns = ["a", "b"].map((each) => ({ name: each, type: "string" }));
    const made = await makeTable(admin, { name, columns });
    await make(admin, name, { a: "12", b: "back" });
    const [a] = made.columns;
    const converted = { id: a.id, name: "a", type: "int" };
    await confirmed(made.id, { columns: [converted] }, name);
    const changed = await admin.patch(`/svc_table/${made.id}`, {
      columns: [{ ...converted, type: "float" }],
    });
    expect(changed.status).toBeLessThan(300);
    await settled(name);
    await undone(made.id, name, "b");
    return tableNamed(admin, name);
  }

  const changesOf = (id: string) => client.db().collection("_changes").find({ table: id }).toArray();

  it("goes as well where an undo has brought back something else of its change", async () => {
    const { id, columns } = await backInPart("in_part");
    expect(columns.map(({ name, type }: Row) => `${name} ${type}`)).toEqual(["a float", "b string"]);
    expect(Object.values((await stored("in_part"))[0] ?? {})).toContain("12");
    await age(id, days(32));
    await restart();
    await until(
      () => changesOf(id),
      (all) => all.length === 0,
    );
    expect(Object.values((await stored("in_part"))[0] ?? {})).not.toContain("12");
    expect([await valuesOf(admin, "in_part", "a"), await valuesOf(admin, "in_part", "b")]).toEqual([
      [12],
      ["back"],
    ]);
  });

  it("stays where it came back and was taken anew since, for as long as that can be undone", async () => {
    const { id, columns } = await backInPart("anew");
    const [first] = (await changesOf(id)).map(({ _id }) => _id);
    if (first === undefined) throw new Error("no change");
    await confirmed(id, { columns: columns.filter(({ name }: Row) => name === "a") }, "anew");
    await client
      .db()
      .collection("_changes")
      .updateOne({ _id: first }, { $set: { at: days(32) } });
    await restart();
    await until(
      () => changesOf(id),
      (all) => all.every(({ _id }) => !_id.equals(first)),
    );
    await undone(id, "anew", "b");
    expect(await valuesOf(admin, "anew", "b")).toEqual(["back"]);
  });

  /** Deletes a table; the tidying up may still be going on. */
  async function deleted({ id, name }: Row): Promise<void> {
    const { body } = await admin.delete(`/svc_table/${id}`);
    await admin.delete(`/svc_table/${id}?confirm=${body.error.details.confirmHash}`);
    await until(async () => (await tableNamed(admin, name)) === undefined);
  }

  const tidied = (id: string): Promise<boolean> =>
    until(
      async () => (await client.db().collection("_changes").findOne({ table: id, state: "done" })) !== null,
    );

  it("is a deleted table's collection, also when a new table has its name", async () => {
    const made = await table("dropped", [{ a: "old" }]);
    await deleted(made);
    await tidied(made.id);
    const next = await table("dropped", [{ a: "new" }]);
    expect(next.id).not.toBe(made.id);
    await age(made.id, days(31));
    await restart();
    await until(async () => (await stored("dropped")).length === 0);
    expect(await valuesOf(admin, "dropped", "a")).toEqual(["new"]);
  });

  it("is not shared with a new table of its name, made before the deletion is tidied up", async () => {
    const made = await table("hurried", [{ a: "old" }]);
    await deleted(made);
    await tidied(made.id);
    // As it is from the moment the table is out of use.
    await client
      .db()
      .collection("_changes")
      .updateOne({ table: made.id }, { $set: { state: "preparing" } });
    await table("hurried", [{ a: "new" }]);
    expect(await valuesOf(admin, "hurried", "a")).toEqual(["new"]);
    expect((await stored("hurried")).map(({ a }) => a)).toEqual(["old"]);
  });
});
