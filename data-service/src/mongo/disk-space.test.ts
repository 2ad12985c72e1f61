// Background work flushes the database often enough to know how much disk space is left.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import type { CommandStartedEvent } from "mongodb";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { makeDiskSpace } from "./disk-space.js";

const MEBIBYTE = 1024 * 1024;

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase({ monitorCommands: true });
});

afterAll(() => database.close());

it("has a checkpoint made whenever 64 mebibytes were written, so that the disk says how much room there is", async () => {
  let checkpoints = 0;
  const note = ({ commandName }: CommandStartedEvent): void => {
    if (commandName === "fsync") checkpoints += 1;
  };
  database.db.client.on("commandStarted", note);
  const { written } = makeDiskSpace(database.db, async () => {});
  const after: number[] = [];
  for (const mebibytes of [40, 23, 1, 40, 40]) {
    await written(mebibytes * MEBIBYTE);
    after.push(checkpoints);
  }
  expect(after).toEqual([0, 0, 1, 1, 2]);
});
