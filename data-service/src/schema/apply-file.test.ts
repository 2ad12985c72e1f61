// Schema files against a database, where the moment matters: what they do at a start is in test/flow/schema-file.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Db } from "mongodb";
import { type FileTable, readSchemaFile } from "../catalog/schema-file.js";
import { openTestDatabase, type TestDatabase } from "../mongo/test-database.js";
import { applyFile } from "./apply-file.js";
import { makeInstance } from "./instance-fixture.js";

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});
beforeEach(() => db.dropDatabase());
afterAll(() => database.close());

function fileOf(...tables: readonly object[]): readonly FileTable[] {
  const { tables: read, problems } = readSchemaFile(JSON.stringify({ tables }));
  expect(problems).toEqual([]);
  return read;
}

describe("a schema file that two instances apply at the same moment", () => {
  it("is applied by one of them, and the other finds it applied", async () => {
    const [one, other] = [makeInstance(database), makeInstance(database)];
    const title = { name: "title", type: "string" };
    const status = { name: "status", type: "string", default: "new" };
    await applyFile(one, fileOf({ name: "posts", columns: [title] }));
    await db.collection("posts").insertMany([{ title: "a" }, { title: "b" }, { title: "c" }]);
    const file = fileOf({ name: "posts", columns: [title, status, { name: "note", type: "text" }] });
    /** The first one is done in the moment in which the other, who has compared the file, takes the lock. */
    let isFirst = true;
    const lock: typeof other.catalogStore.lock = async (holder) => {
      if (isFirst) {
        isFirst = false;
        await applyFile(one, file);
      }
      return other.catalogStore.lock(holder);
    };
    const late = { ...other, catalogStore: { ...other.catalogStore, lock } };
    await applyFile(late, file);
    expect(isFirst).toBe(false);
    const [definition] = await one.catalogStore.load();
    // Made twice, the columns would lie in other fields than at first.
    expect(Object.values(definition?.storage.fields ?? {})).toEqual(["title", "status", "note"]);
    expect(await db.collection("posts").countDocuments({ status: "new" })).toBe(3);
    expect(await db.collection("_changes").countDocuments()).toBe(2);
  });
});
