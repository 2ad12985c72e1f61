// Rules are read again and again, and stay the same object for as long as they say the same: much is derived from them.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ObjectId } from "mongodb";
import { buildCatalog } from "../catalog/build-catalog.js";
import { bareTable } from "../catalog/definition-fixture.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { makeRuleStore } from "./rule-store.js";

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database?.close());

describe("the rules of a role", () => {
  const catalog = buildCatalog(1, [], []);
  const clock = { time: 0, now: () => new Date(clock.time) };

  function makeStore() {
    let loads = 0;
    const store = makeRuleStore(database.db, "svc_", {
      clock,
      catalogs: { get: async () => catalog, refresh: async () => catalog },
      changeOf: async () => undefined,
      noteLoad: () => {
        loads += 1;
      },
    });
    const later = async (roleId: string | null = null) => {
      clock.time += 5_000;
      return store.of(roleId);
    };
    return { later, loads: () => loads };
  }

  const rules = () => database.db.collection("svc_permission");
  const [createdAt, updatedAt] = [new Date(0), new Date(0)];
  const rule = { table: "posts", action: "read", isEnabled: true, createdAt, updatedAt };

  it("are the same object when they were read again and have not changed", async () => {
    await rules().insertOne({ ...rule, filter: { title: { _eq: "a" } } });
    const { later, loads } = makeStore();
    const first = await later();
    expect(first.rules).toHaveLength(1);
    expect(await later()).toBe(first);
    expect(loads()).toBe(2);
  });

  it("are the same object for who asks now and then, though other roles are asked for in between", async () => {
    const { later } = makeStore();
    const first = await later();
    await later(new ObjectId().toHexString());
    expect(await later()).toBe(first);
  });

  it("come in the order in which they were made, whatever ids another process gives within a second", async () => {
    const { later } = makeStore();
    const roleId = ObjectId.createFromHexString("65a0000000000000000000ff");
    const madeAt = (ms: number, id: string) => ({
      ...rule,
      roleId,
      _id: ObjectId.createFromHexString(`65a00000${id.padStart(16, "0")}`),
      createdAt: new Date(ms),
    });
    await rules().insertMany([madeAt(20, "a"), madeAt(20, "b"), madeAt(10, "c")]);
    const ids = (await later(roleId.toHexString())).rules.map(({ id }) => id.slice(-1));
    expect(ids.slice(0, 3)).toEqual(["c", "a", "b"]);
  });

  it("are others once one was added, changed or switched off", async () => {
    const { later } = makeStore();
    const _id = new ObjectId();
    const changes: (() => Promise<unknown>)[] = [
      () => rules().insertOne({ _id, ...rule, table: "comments" }),
      () => rules().updateOne({ _id }, { $set: { fields: "id" } }),
      () => rules().updateOne({ _id }, { $set: { isEnabled: false } }),
      () => rules().deleteOne({ _id }),
    ];
    for (const change of changes) {
      const before = await later();
      await change();
      expect(await later()).not.toBe(before);
    }
  });
});

it("the rules that are off are told without those of a table that is gone, though another has its name", async () => {
  const catalog = buildCatalog(1, [bareTable("letters", { id: "new" })], []);
  const store = makeRuleStore(database.db, "svc_", {
    clock: { now: () => new Date(0) },
    catalogs: { get: async () => catalog, refresh: async () => catalog },
    changeOf: async () => undefined,
  });
  const [createdAt, updatedAt] = [new Date(0), new Date(0)];
  const off = { table: "letters", action: "read", isEnabled: false, createdAt, updatedAt };
  const followed = (meant: string) => ({ change: "c", at: updatedAt, losses: [], meant: [meant] });
  await database.db.collection("svc_permission").insertMany([
    { ...off, description: "by hand" },
    { ...off, description: "the former", _followed: followed("former") },
    { ...off, description: "this one", _followed: followed("new") },
    { ...off, description: "of none", table: "nosuch" },
  ]);
  const told = (await store.switchedOff()).map(({ description }) => description);
  expect(told).toEqual(["by hand", "this one"]);
});
