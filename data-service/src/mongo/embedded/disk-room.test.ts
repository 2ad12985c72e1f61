// How much free disk space an embedded database needs to open.
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { freeBytes, roomProblem } from "./disk-room.js";

const MEBIBYTE = 1024 * 1024;

describe("the look at the disk", () => {
  it("sees what the system says", async () => {
    const directory = await mkdtemp(join(tmpdir(), "portico-space-"));
    const { blocks, bsize } = await statfs(directory);
    const free = await freeBytes(directory);
    expect(free).toBeGreaterThan(0);
    expect(free).toBeLessThanOrEqual(blocks * bsize);
    await rm(directory, { recursive: true });
  });
});

describe("opening an embedded database", () => {
  it("needs some room, and as much more as its journal holds", () => {
    expect(roomProblem("/data", 32 * MEBIBYTE, 0)).toBeUndefined();
    expect(roomProblem("/data", 232 * MEBIBYTE, 200 * MEBIBYTE)).toBeUndefined();
    expect(roomProblem("/data", 231.5 * MEBIBYTE, 200 * MEBIBYTE)).toBe(
      "The disk of the folder /data is full: 231 MiB are free, and the database needs 232 MiB to open",
    );
    expect(roomProblem("/data", 0, 0)).toMatch(/: 0 MiB are free, and the database needs 32 MiB to open$/);
  });
});
