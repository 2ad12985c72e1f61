// What becomes of deleted tables and their documents when it is too late to bring them back. How long that takes, and what else
// is swept, is in test/contract/tables/kept.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { type Db, ObjectId } from "mongodb";
import { readSchemaFile } from "../catalog/schema-file.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { confirming } from "./apply-file.js";
import { applyFile } from "./apply-tables-fixture.js";
import { deleteTable, undoChange } from "./change-table.js";
import { createTable } from "./create-table.js";
import { makeInstance } from "./instance-fixture.js";
import { makeTable } from "./make-table.js";
import { makeSweeper } from "./sweep-changes.js";

const LONG_AGO = new Date(Date.now() - 32 * 24 * 60 * 60 * 1000);

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});
beforeEach(() => db.dropDatabase());
afterAll(() => database.close());

const deps = () => makeInstance(database);
const remove = (id: string) => confirming(true, (hash) => deleteTable(deps(), id, hash));
const sweep = () => makeSweeper(deps())();
/** As if all changes of a table so far had been made a month ago. */
const age = (table: string) => db.collection("_changes").updateMany({ table }, { $set: { at: LONG_AGO } });
const columns = [{ name: "title", type: "string" }];

/** A table with documents that were there before it. */
async function adopt(definition: JsonObject): Promise<string> {
  await db.collection("books").insertOne({ title: "theirs" });
  return makeTable(deps(), { name: "books", columns, ...definition });
}
const titles = async () => (await db.collection("books").find().toArray()).map(({ title }) => title);

/** Another table that shows the documents of the first, made by a schema file. */
async function adoptedBySecond(): Promise<string> {
  const json = { name: "second", storage: { collection: "books" }, columns };
  const { tables } = readSchemaFile(JSON.stringify({ tables: [json] }));
  expect(await applyFile(deps(), tables)).toMatchObject([{ problems: [] }]);
  return (await deps().catalogStore.load()).find(({ name }) => name === "second")?.id ?? "";
}

describe("a deleted table that showed documents of others", () => {
  const history = () => db.collection("_history").countDocuments();
  /** Stands for an entry of each write, all of which are kept under the id of the table. */
  const note = (table: string) => db.collection("_history").insertOne({ table, record: new ObjectId() });

  it("has no history any more when it can't come back, and they have their documents", async () => {
    const id = await adopt({ history: true });
    await note(id);
    await note("that of another table");
    await remove(id);
    await sweep();
    expect(await history()).toBe(2);
    await age(id);
    await sweep();
    expect([await history(), await titles()]).toEqual([1, ["theirs"]]);
  });

  it("keeps it where it came back, and where it was deleted again since", async () => {
    const id = await adopt({ history: true });
    await note(id);
    await remove(id);
    await (await undoChange(deps(), id)).done;
    await age(id);
    await remove(id);
    await sweep();
    expect([await history(), await titles()]).toEqual([1, ["theirs"]]);
    await (await undoChange(deps(), id)).done;
    await age(id);
    await sweep();
    expect([await history(), await titles()]).toEqual([1, ["theirs"]]);
  });
});

/** A new table for the documents of the first. */
const makeSecond = (instance: ReturnType<typeof deps>) =>
  createTable(instance, { name: "second", storage: { collection: "books" }, columns }, { ownIds: true });

/** As if the last sweep had been more than an hour ago. */
const anHourLater = () => db.collection("_changes").updateMany({}, { $unset: { sweptAt: "" } });

/** Another instance sweeps right before a new table of this one is put into use. */
function sweepingLate(): ReturnType<typeof deps> {
  const { catalogStore, ...rest } = deps();
  const publish: typeof catalogStore.publish = async (...given) => {
    await sweep();
    return catalogStore.publish(...given);
  };
  return { ...rest, catalogStore: { ...catalogStore, publish } };
}

describe("the indexes of a deleted table that showed documents of others", () => {
  const indexes = async () =>
    (await db.collection("books").indexes()).map(({ name = "" }) => name).filter((name) => name !== "_id_");
  const unique = { columns: [{ name: "title", type: "string", unique: true }] };
  const THEIRS = ["author_1", "portico_author_-1"];
  beforeEach(async () => {
    await db.collection("books").createIndexes([
      { key: { author: 1 } },
      // Of another service beside this one, perhaps.
      { key: { author: -1 }, name: "portico_author_-1" },
    ]);
  });

  it("go when it can't come back, and no others", async () => {
    const id = await adopt(unique);
    await remove(id);
    await sweep();
    const kept = await indexes();
    expect(kept).toEqual(expect.arrayContaining([...THEIRS, expect.stringMatching(/^portico_title_1_/)]));
    await age(id);
    await sweep();
    expect((await indexes()).toSorted()).toEqual(THEIRS);
    expect(await deps().changeLock.holder()).toBeUndefined();
  });

  it("stay for another table that has come to them", async () => {
    const id = await adopt({});
    await remove(id);
    await adoptedBySecond();
    const before = await indexes();
    await age(id);
    await sweep();
    expect([before.length > THEIRS.length, await indexes()]).toEqual([true, before]);
  });

  /** Indexes of the deleted table, whose time is over. */
  async function left(): Promise<string[]> {
    const id = await adopt({});
    await remove(id);
    await age(id);
    return (await indexes()).toSorted();
  }

  it("stay for a new table that has them already, and is not in use yet", async () => {
    const before = await left();
    await makeSecond(sweepingLate());
    expect((await indexes()).toSorted()).toEqual(before);
  });

  it("are not counted on by a new table that comes while they go", async () => {
    const before = await left();
    const { data, ...rest } = deps();
    let second: Promise<string> | undefined;
    const dropIndexes: typeof data.dropIndexes = async (...given) => {
      second = makeSecond(deps());
      // Long enough for it to find them, if it were not to wait.
      await delay(1_000);
      await data.dropIndexes(...given);
    };
    await makeSweeper({ ...rest, data: { ...data, dropIndexes } })();
    await second;
    expect((await indexes()).toSorted()).toEqual(before);
  });
});

describe("the documents of a deleted table", () => {
  it("go when it can't come back", async () => {
    const id = await createTable(deps(), { name: "books", columns });
    await db.collection("books").insertOne({ title: "ours" });
    await remove(id);
    await age(id);
    await sweep();
    expect(await titles()).toEqual([]);
  });

  it("stay where it came back, and is deleted again while that is swept", async () => {
    const id = await createTable(deps(), { name: "books", columns });
    await db.collection("books").insertOne({ title: "ours" });
    await remove(id);
    await (await undoChange(deps(), id)).done;
    await age(id);
    const { changes, ...rest } = deps();
    let again: Promise<unknown> | undefined;
    const othersOf: typeof changes.othersOf = async (change) => {
      const others = await changes.othersOf(change);
      again ??= remove(id);
      await again;
      return others;
    };
    await makeSweeper({ ...rest, changes: { ...changes, othersOf } })();
    await (await undoChange(deps(), id)).done;
    expect(await titles()).toEqual(["ours"]);
  });

  it("stay for a new one that is about to show them", async () => {
    const id = await createTable(deps(), { name: "books", columns });
    await db.collection("books").insertOne({ title: "ours" });
    await remove(id);
    await age(id);
    await makeSecond(sweepingLate());
    expect(await titles()).toEqual(["ours"]);
  });

  it("go an hour later where that one is not made after all", async () => {
    const id = await createTable(deps(), { name: "books", columns });
    await db.collection("books").insertOne({ title: "ours" });
    await remove(id);
    await age(id);
    const { catalogStore, ...rest } = deps();
    const publish = async (): Promise<never> => {
      await sweep();
      throw new Error("given up");
    };
    const making = makeSecond({ ...rest, catalogStore: { ...catalogStore, publish } });
    await expect(making).rejects.toThrow("given up");
    expect(await titles()).toEqual(["ours"]);
    await anHourLater();
    await sweep();
    expect([await titles(), await db.collection("_changes").countDocuments()]).toEqual([[], 0]);
  });

  it("go an hour later where a change of another table takes long", async () => {
    const id = await createTable(deps(), { name: "books", columns });
    await db.collection("books").insertOne({ title: "ours" });
    await remove(id);
    await age(id);
    const { changeLock } = deps();
    const other = { change: new ObjectId().toHexString(), instance: "another" };
    expect(await changeLock.take(other)).toBe(true);
    await sweep();
    expect(await titles()).toEqual(["ours"]);
    await changeLock.release(other);
    await anHourLater();
    await sweep();
    expect(await titles()).toEqual([]);
  });

  it("go soon after a change that took long where they were not yet looked at during it", async () => {
    const first = await createTable(deps(), { name: "books", columns });
    await db.collection("books").insertOne({ title: "ours" });
    const second = await createTable(deps(), { name: "maps", columns });
    await db.collection("maps").insertOne({ title: "ours as well" });
    for (const id of [first, second]) {
      await remove(id);
      await age(id);
    }
    const { changeLock } = deps();
    const other = { change: new ObjectId().toHexString(), instance: "another" };
    const sweeper = makeSweeper(deps());
    expect(await changeLock.take(other)).toBe(true);
    await sweeper();
    await changeLock.release(other);
    await sweeper();
    const left = await Promise.all(["books", "maps"].map((name) => db.collection(name).countDocuments()));
    expect(left).toEqual([1, 0]);
  });

  it("stay for another deleted one that shows them and can come back", async () => {
    const id = await createTable(deps(), { name: "books", columns });
    await db.collection("books").insertOne({ title: "ours" });
    await remove(id);
    const second = await adoptedBySecond();
    await remove(second);
    await age(id);
    await sweep();
    await (await undoChange(deps(), second)).done;
    expect(await titles()).toEqual(["ours"]);
  });
});

it("a schema file with the id of a deleted table that is being swept makes another one", async () => {
  const id = await createTable(deps(), { name: "books", columns });
  await remove(id);
  await age(id);
  expect(await deps().changes.takeForSweeping(new Date(), new Date())).toMatchObject({ table: id });
  const { tables } = readSchemaFile(JSON.stringify({ tables: [{ id, name: "books", columns }] }));
  expect(await applyFile(deps(), tables)).toMatchObject([{ problems: [] }]);
  const [made] = await deps().catalogStore.load();
  expect([made?.name, made?.id === id]).toEqual(["books", false]);
});
