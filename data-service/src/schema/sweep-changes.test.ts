// What becomes of deleted tables and their documents when it is too late to bring them back. How long that takes, and what else
// is swept, is in test/contract/tables/kept.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { JsonObject } from "@portico/shared/json";
import { type Db, ObjectId } from "mongodb";
import { readSchemaFile } from "../catalog/schema-file.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { applyFile, confirming } from "./apply-file.js";
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

describe("the documents of a deleted table", () => {
  /** Another table that shows them, made by a schema file. */
  async function adoptedBySecond(): Promise<string> {
    const json = { name: "second", storage: { collection: "books" }, columns };
    const { tables } = readSchemaFile(JSON.stringify({ tables: [json] }));
    expect(await applyFile(deps(), tables)).toMatchObject([{ problems: [] }]);
    return (await deps().catalogStore.load()).find(({ name }) => name === "second")?.id ?? "";
  }

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
