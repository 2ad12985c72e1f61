import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Db, MongoClient, ObjectId } from "mongodb";
import type { Entry } from "../journal/entry.js";
import { JournalStore } from "./journal-store.js";

describe("the journal", () => {
  let client: MongoClient;
  let db: Db;
  let now: Date;
  let store: JournalStore;

  beforeAll(async () => {
    const url = process.env.MONGODB_URL;
    if (url === undefined) throw new Error("MONGODB_URL is set by the test run");
    client = await MongoClient.connect(url);
    db = client.db(`test_${new ObjectId().toHexString()}`);
  });

  afterAll(async () => {
    await db.dropDatabase();
    await client.close();
  });

  beforeEach(async () => {
    await db.dropDatabase();
    now = new Date("2026-01-01T00:00:00Z");
    store = instance();
    await store.ensureIndexes();
  });

  const instance = () => new JournalStore(db, false, false, () => now);
  const entry = (more: Partial<Entry> = {}): Entry => ({
    ...{ id: new ObjectId(), table: "t", record: 1, kind: "updated", revision: 2, by: null, at: now },
    ...more,
  });
  const wait = (ms: number): void => {
    now = new Date(now.getTime() + ms);
  };

  it("goes on behind what others have written and pruned, also for an instance that was silent for long", async () => {
    const silent = instance();
    await silent.append([entry()]);
    await store.append([entry(), entry(), entry()]);
    const place = await store.tip();
    await store.prune(new Date(now.getTime() + 1), 1);
    wait(61_000);
    const late = entry();
    await silent.append([late]);
    expect((await store.read(place, 10))?.map(({ entry: { id } }) => id)).toEqual([late.id]);
  });
});
