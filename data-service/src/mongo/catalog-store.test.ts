// Tables are reserved, published and read back, whatever others do meanwhile.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Db, ObjectId } from "mongodb";
import type { TableDefinition } from "../catalog/definition.js";
import { bareTable } from "../catalog/definition-fixture.js";
import { type CatalogStore, makeCatalogStore } from "./catalog-store.js";
import { makeChangeLock } from "./change-lock.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";

let database: TestDatabase;
let db: Db;
let store: CatalogStore;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});

afterAll(() => database.close());

beforeEach(async () => {
  await db.dropDatabase();
  store = makeCatalogStore(db, "svc_");
});

const table = (name: string) => bareTable(name, { id: new ObjectId().toHexString() });

async function reserved(name: string): Promise<TableDefinition> {
  const definition = table(name);
  expect(await store.reserve(definition, { instance: "a", at: new Date() })).toBe(true);
  return definition;
}

const versionOf = async (of: CatalogStore) => (await of.state()).version;
const names = async () => (await store.load()).map(({ name }) => name);

describe("a table that is being made", () => {
  it("has its name reserved, and is not in use", async () => {
    await reserved("a");
    expect(await store.reserve(table("a"), { instance: "a", at: new Date() })).toBe(false);
    expect([await names(), await versionOf(store)]).toEqual([[], 0]);
  });

  it("gives its name free again, and nobody else's reservation", async () => {
    const mine = await reserved("a");
    await store.release(table("a"), "a");
    expect(await store.reserve(table("a"), { instance: "a", at: new Date() })).toBe(false);
    await store.release(mine, "a");
    await reserved("a");
  });

  it("is in use once it is published, as it was defined", async () => {
    const a = await reserved("a");
    expect(await store.publish(a, 0)).toBe(true);
    expect([await store.load(), await versionOf(store), await store.making()]).toEqual([[a], 1, []]);
  });

  it("is not published when another change came in between", async () => {
    const [a, b] = [await reserved("a"), await reserved("b")];
    await store.publish(a, 0);
    expect(await store.publish(b, 0)).toBe(false);
    expect(await names()).toEqual(["a"]);
    expect(await store.publish(b, 1)).toBe(true);
  });
});

describe("what lies among the definitions and is none", () => {
  const stranger = { name: "a", createdAt: new Date(), updatedAt: new Date() };

  it("is no table, and keeps no name from one", async () => {
    await db.collection("svc_table").createIndex({ name: 1 }, { unique: true });
    await db.collection("svc_table").insertOne({ ...stranger });
    expect(await names()).toEqual([]);
    const a = await reserved("a");
    expect(await store.publish(a, 0)).toBe(true);
    expect(await store.load()).toEqual([a]);
  });

  it("is not read as a part of one", async () => {
    const a = await reserved("a");
    await store.publish(a, 0);
    await db.collection("svc_table").updateOne({ name: "a" }, { $set: { _n_x: 1, _v_x: 2 } });
    expect(await store.load()).toEqual([a]);
  });
});

describe("publishing", () => {
  it("lets one of twenty at the same moment win", async () => {
    const all = await Promise.all(Array.from({ length: 20 }, (_, at) => reserved(`t${at}`)));
    const won = await Promise.all(all.map((each) => store.publish(each, 0)));
    expect(won.filter(Boolean).length).toBe(1);
    expect((await names()).length).toBe(1);
  });

  it("shows the new number never without the new table", async () => {
    const rounds = Array.from({ length: 10 }, (_, at) => at);
    for (const seen of rounds) {
      const publishing = store.publish(await reserved(`t${seen}`), seen);
      const other = makeCatalogStore(db, "svc_");
      while ((await versionOf(other)) === seen);
      expect((await other.load()).length).toBe(seen + 1);
      await publishing;
    }
  });

  it.each([
    ["right after the number was counted", async () => {}],
    [
      "after the table was carried over",
      async (a: TableDefinition) => {
        const { id, ...definition } = a;
        const now = new Date();
        const document = {
          _id: ObjectId.createFromHexString(id),
          ...definition,
          createdAt: now,
          updatedAt: now,
        };
        await db.collection("svc_table").insertOne(document);
      },
    ],
  ])("is finished by anybody when its process dies %s", async (_name, died) => {
    const a = await reserved("a");
    const latest = { id: ObjectId.createFromHexString(a.id), name: a.name };
    await db
      .collection<{ _id: string }>("_versions")
      .insertOne({ _id: "catalog", version: 1, latest } as never);
    await died(a);
    await store.release(a, "a");
    expect([await store.load(), await store.making(), await versionOf(store)]).toEqual([[a], [], 1]);
    expect(await store.publish(await reserved("b"), 1)).toBe(true);
    expect(await names()).toEqual(["a", "b"]);
  });
});

describe("a change that an earlier version has published", () => {
  it("is noted as followed, whose rules nobody would wait for otherwise", async () => {
    const change = new ObjectId();
    const versions = db.collection<{ _id: string; version: number; lock: object }>("_versions");
    await versions.insertOne({
      _id: "catalog",
      version: 7,
      lock: { change, instance: "a", published: true },
    });
    await makeChangeLock(db, "svc_").followed({ change: change.toHexString(), instance: "a" });
    const noted = { id: change.toHexString(), isFollowed: true };
    expect(await store.state()).toMatchObject({ version: 8, change: noted });
  });
});

describe("the number of a cluster's catalog", () => {
  it("is learned where it can't be rolled back any more: it would be given again, to another change", async () => {
    const monitored = await openTestDatabase({ monitorCommands: true });
    try {
      const asked: unknown[] = [];
      monitored.db.client.on("commandStarted", ({ commandName, command }) => {
        if (commandName === "find" && command.find === "_versions") asked.push(command.readConcern);
      });
      const cluster = makeCatalogStore(monitored.db, "svc_", true);
      await cluster.state();
      await cluster.load();
      expect(asked).toEqual([{ level: "majority" }, { level: "majority" }]);
    } finally {
      await monitored.close();
    }
  });
});
