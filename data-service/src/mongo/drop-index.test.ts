// Dropping what may be gone already.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { dropIndex } from "./drop-index.js";

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
  await database.db.collection("things").createIndex({ old: 1 });
});

afterAll(() => database?.close());

it("drops an index, and nothing where the index or its whole collection is missing", async () => {
  const things = database.db.collection("things");
  for (let time = 0; time < 2; time += 1) await dropIndex(things, "old_1");
  expect((await things.indexes()).map(({ name }) => name)).toEqual(["_id_"]);
  await dropIndex(database.db.collection("nowhere"), "old_1");
});

it("fails for any other reason", async () => {
  await expect(dropIndex(database.db.collection("things"), "_id_")).rejects.toThrow();
});
