// Folders that several make at once.
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { makeFolder } from "./make-folder.js";

describe("makeFolder", () => {
  let place: string;

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "portico-folder-"));
  });

  afterAll(() => rm(place, { recursive: true }));

  it("makes every level, also when several do so at once, and again", async () => {
    const path = join(place, "a/b/c");
    await Promise.all([makeFolder(path), makeFolder(path), makeFolder(path)]);
    await makeFolder(path);
    expect((await stat(path)).isDirectory()).toBe(true);
  });

  it("says that a file is in the way", async () => {
    await writeFile(join(place, "file"), "");
    await expect(makeFolder(join(place, "file"))).rejects.toMatchObject({ code: "ENOTDIR" });
    await expect(makeFolder(join(place, "file/below"))).rejects.toMatchObject({ code: "ENOTDIR" });
  });

  it("ends where no folder can be made", async () => {
    await expect(makeFolder("/proc/portico/folder")).rejects.toThrow();
  });
});
