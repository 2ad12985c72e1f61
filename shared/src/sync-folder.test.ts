// Where a folder can't be synced, that is no failure; where it can and fails, it is.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { isUnsupported, syncFolder } from "./sync-folder.js";

describe("syncFolder", () => {
  it("passes on what fails", async () => {
    const folder = await mkdtemp(join(tmpdir(), "portico-sync-"));
    await expect(syncFolder(folder)).resolves.toBeUndefined();
    await rm(folder, { recursive: true });
    await expect(syncFolder(folder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it.each<[string, string, NodeJS.Platform, boolean]>([
    ["Windows, which syncs no folder", "EPERM", "win32", true],
    ["a file system that has nothing to sync", "EINVAL", "linux", true],
    ["a folder that may not be synced elsewhere", "EPERM", "linux", false],
    ["a broken disk", "EIO", "win32", false],
  ])("knows %s", (_case, code, platform, expected) => {
    expect(isUnsupported(Object.assign(new Error(code), { code }), platform)).toBe(expected);
  });
});
