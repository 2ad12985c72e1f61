// How the records of a table are brought from one form into another.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Db } from "mongodb";
import { buildCatalog } from "../catalog/build-catalog.js";
import type { Table } from "../catalog/catalog.js";
import { bareTable } from "../catalog/definition-fixture.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { makeTableData } from "./table-data.js";

const MEBIBYTE = 1024 * 1024;

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});

afterAll(() => database.close());

function table(name: string): Table {
  const built = buildCatalog(0, [bareTable(name, { idType: "int" })], []).tables.get(name);
  if (built === undefined) throw new Error(`no table ${name}`);
  return built;
}

/** Documents with some text each, and the sizes of the batches in which it is copied. */
async function batchesOf(name: string, count: number, bytes: number): Promise<number[]> {
  const records = db.collection<{ _id: number; a: string }>(name);
  for (let from = 0; from < count; from += 20)
    await records.insertMany(
      Array.from({ length: Math.min(20, count - from) }, (_, at) => ({
        _id: from + at,
        a: "x".repeat(bytes),
      })),
    );
  const batches: number[] = [];
  const copyAll = (value: unknown) => String(value).slice(0, 1);
  await makeTableData(db).copy(
    table(name),
    { from: "a", to: "b" },
    copyAll,
    async (many) => void batches.push(many),
  );
  expect(await records.countDocuments({ b: "x" })).toBe(count);
  return batches;
}

describe("records that are rewritten", () => {
  it("are held in memory a thousand at a time, or as many as are eight mebibytes", async () => {
    expect(await batchesOf("small", 1_100, 10)).toEqual([1_000, 100]);
    expect(await batchesOf("large", 20, MEBIBYTE)).toEqual([8, 8, 4]);
    expect(await batchesOf("huge", 2, 10 * MEBIBYTE)).toEqual([1, 1]);
  });
});

describe("records that are rewritten on a disk that is getting full", () => {
  const full = new Error("full");
  /** Room for so many batches. */
  const room = (batches: number) => async (): Promise<void> => {
    batches -= 1;
    if (batches < 0) throw full;
  };

  it("are left as they are from the batch on that has no room", async () => {
    const records = db.collection<{ _id: number; a: string }>("crowded");
    await records.insertMany(Array.from({ length: 2_500 }, (_, at) => ({ _id: at, a: "x" })));
    const crowded = table("crowded");
    const report = async () => {};
    const copyAll = (value: unknown) => String(value);
    await expect(
      makeTableData(db, room(1)).copy(crowded, { from: "a", to: "b" }, copyAll, report),
    ).rejects.toBe(full);
    expect(await records.countDocuments({ b: "x" })).toBe(1_000);
    await expect(
      makeTableData(db, room(2)).setMissing(crowded, { field: "c" }, () => 1, report),
    ).rejects.toBe(full);
    expect(await records.countDocuments({ c: 1 })).toBe(2_000);
    const fields = { later: "a", former: "d" };
    const takeAll = (value: unknown) => ({ value: String(value) });
    await expect(makeTableData(db, room(0)).restore(crowded, fields, takeAll, report)).rejects.toBe(full);
    expect(await records.countDocuments({ d: { $exists: true } })).toBe(0);
  });

  it("can always be made smaller", async () => {
    const records = db.collection<{ _id: number; a: string }>("smaller");
    await records.insertMany(Array.from({ length: 10 }, (_, at) => ({ _id: at, a: "x" })));
    await makeTableData(db, room(0)).unset("smaller", ["a"]);
    expect(await records.countDocuments({ a: { $exists: true } })).toBe(0);
  });
});

describe("values that are filled in among those of others", () => {
  it("are taken back but for what others have written since, and nothing is left of the note", async () => {
    const records = db.collection<{ _id: number; a?: unknown }>("shared");
    await records.insertMany([{ _id: 1 }, { _id: 2, a: null }, { _id: 3, a: "x" }, { _id: 4 }, { _id: 5 }]);
    const data = makeTableData(db);
    const where = { field: "a", mark: "_filled_a" };
    await data.setMissing(
      table("shared"),
      { ...where, nulls: true },
      () => "x",
      async () => {},
    );
    expect(await records.countDocuments({ a: "x" })).toBe(5);
    await records.updateOne({ _id: 4 }, { $set: { a: "theirs" } });
    await records.updateOne({ _id: 5 }, { $unset: { a: "" } });
    await data.takeBack("shared", where, async () => {});
    expect(await records.find().toArray()).toEqual([
      { _id: 1 },
      { _id: 2, a: null },
      { _id: 3, a: "x" },
      { _id: 4, a: "theirs" },
      { _id: 5 },
    ]);
  });
});
