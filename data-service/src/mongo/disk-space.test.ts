// Background work flushes the database often enough to know how much disk space is left.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import type { CommandStartedEvent } from "mongodb";
import { AnnouncedSpace } from "../space-check.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { makeBulkSpace, makeDiskSpace } from "./disk-space.js";

const MEBIBYTE = 1024 * 1024;

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase({ monitorCommands: true });
});

afterAll(() => database.close());

/** Counts the checkpoints from now on. */
function checkpoints(): { readonly made: number } {
  const counted = { made: 0 };
  database.db.client.on("commandStarted", ({ commandName }: CommandStartedEvent) => {
    if (commandName === "fsync") counted.made += 1;
  });
  return counted;
}

it("has a checkpoint made whenever 64 mebibytes were written, so that the disk says how much room there is", async () => {
  const counted = checkpoints();
  const { written } = makeDiskSpace(database.db, async () => {});
  const after: number[] = [];
  for (const mebibytes of [40, 23, 1, 40, 40]) {
    await written(mebibytes * MEBIBYTE);
    after.push(counted.made);
  }
  expect(after).toEqual([0, 0, 1, 1, 2]);
});

it("has one made after a single large work only where there is little room, so that it takes no longer elsewhere", async () => {
  const counted = checkpoints();
  const after: number[] = [];
  for (const free of [4_096, 1_024]) {
    const disk = { free: async () => free * MEBIBYTE, reserveBytes: 200 * MEBIBYTE };
    const { during } = makeBulkSpace(database.db, new AnnouncedSpace(disk));
    for (const mebibytes of [63, 64]) {
      await during(mebibytes * MEBIBYTE, "writing", async () => {});
      after.push(counted.made);
    }
  }
  expect(after).toEqual([0, 0, 0, 1]);
});
