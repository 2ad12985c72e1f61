// The first root admin, whose password only the process knows that makes it.
import { afterAll, afterEach, beforeAll, expect, it, jest } from "@jest/globals";
import { Collection, MongoNetworkError } from "mongodb";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { makeUserStore } from "./user-store.js";

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterEach(() => void jest.restoreAllMocks());
afterAll(() => database.close());

const admin = { id: "0123456789abcdef01234567", email: "root@example.com", createdAt: new Date() };

it("a first admin whose making was not answered counts as made, and only for whoever made it", async () => {
  const users = makeUserStore(database.db, "svc_");
  const insert = Collection.prototype.insertOne;
  jest.spyOn(Collection.prototype, "insertOne").mockImplementationOnce(async function (
    this: Collection,
    ...parts: Parameters<typeof insert>
  ) {
    await insert.apply(this, parts);
    throw new MongoNetworkError("connection closed");
  });
  expect(await users.insertRootAdmin({ ...admin, passwordHash: "mine" })).toBe(true);
  expect(await users.insertRootAdmin({ ...admin, passwordHash: "another's" })).toBe(false);
});
