// Locks that instances share.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { type Lock, makeLock } from "./lock.js";

let database: TestDatabase;
let time: number;
let lock: Lock;

beforeAll(async () => {
  database = await openTestDatabase();
  time = 1_000_000;
  lock = makeLock(database.db, { now: () => new Date(time) }, "things", "others are at it");
});

afterAll(() => database?.close());

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (): Promise<number> => {
  const held = await database.db.collection<{ _id: string; until: Date }>("_tree_lock").findOne();
  return held?.until.getTime() ?? 0;
};

describe("a lock", () => {
  it("is held for as long as its task takes, and then by the next one, in a turn of its own", async () => {
    const turns: string[] = [];
    let end = (): void => {};
    const first = lock(async (turn) => {
      turns.push(turn);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    while (turns.length === 0) await wait(5);
    time += 9_000;
    const taken = await until();
    while ((await until()) === taken) await wait(50);
    time += 9_000;
    const second = lock(async (turn) => void turns.push(turn));
    await wait(200);
    expect(turns).toHaveLength(1);
    end();
    await Promise.all([first, second]);
    expect(new Set(turns).size).toBe(2);
  });
});
