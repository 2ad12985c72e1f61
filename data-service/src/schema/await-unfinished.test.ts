// What a change of a table waits for before it moves values.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { systemClock } from "@portico/shared/clock";
import { makeLogger } from "@portico/shared/logger";
import { ObjectId } from "bson";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { type Note, UnfinishedStore } from "../mongo/unfinished-store.js";
import { awaitUnfinished } from "./await-unfinished.js";
import type { ChangeDeps } from "./change-deps.js";

let database: TestDatabase;
let store: UnfinishedStore;
beforeAll(async () => {
  database = await openTestDatabase();
  store = new UnfinishedStore(database.db, false);
});
afterAll(() => database?.close());

const HOUR_MS = 3_600_000;
const logger = makeLogger("test", "silent");
const agoInSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) - seconds;

/** Notes that a request has written to a table. @param seconds how long ago it began */
async function begin(table: string, more: Partial<Note> = {}, seconds = 0): Promise<Note> {
  const time = ObjectId.createFromTime(agoInSeconds(seconds)).toHexString().slice(0, 8);
  const id = new ObjectId(time + new ObjectId().toHexString().slice(8));
  const steps = [{ kind: "made", table, ids: [1] }] as const;
  const note: Note = { id, instance: "one", at: new Date(), steps, ...more };
  await store.begin(note);
  return note;
}

/** @param looked is told of each look */
const wait = (table: string, patienceMs: number, looked = (): void => undefined): Promise<void> => {
  const unfinishedNotes: ChangeDeps["unfinishedNotes"] = {
    forgetValues: (...asked) => store.forgetValues(...asked),
    openIn: async (...asked) => {
      const open = await store.openIn(...asked);
      looked();
      return open;
    },
  };
  return awaitUnfinished({ unfinishedNotes, clock: systemClock, logger }, table, patienceMs);
};

describe("a change that moves values", () => {
  it("waits for what has written to its table by then, and not for what begins later", async () => {
    const note = await begin("busy");
    let isOver = false;
    let waiting = Promise.resolve();
    await new Promise<void>((looked) => {
      waiting = wait("busy", 20_000, looked).then(() => {
        isOver = true;
      });
    });
    await begin("busy");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isOver).toBe(false);
    await store.end(note);
    await waiting;
  });

  it("is refused where something stays", async () => {
    await begin("stays", {}, 200);
    await expect(wait("stays", 100)).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("waits for what a clock that was ahead has noted, and no longer once that could not be taken back", async () => {
    const note = await begin("ahead", { at: new Date(Date.now() + HOUR_MS) }, -3_600);
    await expect(wait("ahead", 100)).rejects.toMatchObject({ code: "CONFLICT" });
    await store.take(note, "repairing", new Date());
    await wait("ahead", 0);
  });

  it("waits neither for what was taken back nor for what never could be", async () => {
    await begin("quiet", { again: true });
    await begin("quiet", { done: true });
    await begin("quiet", {}, 3_600);
    await wait("quiet", 0);
  });
});
