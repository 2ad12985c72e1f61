// A database of its own for a unit test, on the MongoDB of the run.
import { type Db, MongoClient, type MongoClientOptions, ObjectId } from "mongodb";

export interface TestDatabase {
  readonly db: Db;
  /** Drops it. */
  close(): Promise<void>;
}

export async function openTestDatabase(options: MongoClientOptions = {}): Promise<TestDatabase> {
  const url = process.env.MONGODB_URL;
  if (url === undefined) throw new Error("MONGODB_URL is set by the test run");
  const client = await MongoClient.connect(url, options);
  const db = client.db(`test_${new ObjectId().toHexString()}`);
  return {
    db,
    async close() {
      await db.dropDatabase();
      await client.close();
    },
  };
}
