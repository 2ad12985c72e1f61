// Locks that instances share.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Collection } from "mongodb";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { type Lock, makeLock } from "./lock.js";

let database: TestDatabase;
let leases: Collection<{ _id: string; holder: string; until: Date }>;
let time: number;
let lock: Lock;

beforeAll(async () => {
  database = await openTestDatabase();
  leases = database.db.collection("_tree_lock");
  time = 100_000_000;
  lock = makeLock(database.db, { now: () => new Date(time) }, "things", "others are at it");
});

afterAll(() => database?.close());

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (): Promise<number> => (await leases.findOne())?.until.getTime() ?? 0;

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

  it("of a process that died is waited for no longer when the clock has been set back since", async () => {
    await leases.insertOne({ _id: "things", holder: "gone", until: new Date(time + 10_000) });
    time -= 3_600_000;
    await expect(lock(async (turn) => turn)).resolves.toEqual(expect.any(String));
  });

  it("is left to who took it by a clock that is ahead by less than a lease", async () => {
    await leases.insertOne({ _id: "things", holder: "ahead", until: new Date(time + 9_000 + 10_000) });
    const waiting = lock(async (turn) => turn);
    await wait(200);
    expect(await leases.findOne()).toMatchObject({ holder: "ahead" });
    await leases.deleteMany();
    await waiting;
  });
});
