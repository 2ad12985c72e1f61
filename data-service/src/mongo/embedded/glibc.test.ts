// The patched libraries: which systems need them, what the patch changes, how they get into the cache.
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { patchElf, requiredGlibcVersions } from "./elf-patch.js";
import { decideLibrary, preparePatchedLibraries, shippedLibraries } from "./glibc.js";

// The package has these libraries on Linux only.
const onLinux = process.platform === "linux" ? describe : describe.skip;

describe("decideLibrary", () => {
  it.each([
    ["linux", "x64", "2.36", "patched"],
    ["linux", "arm64", "2.37", "patched"],
    ["linux", "x64", "2.38", "as-shipped"],
    ["linux", "x64", "2.41", "as-shipped"],
    ["linux", "x64", "2.4", "patched"],
    ["darwin", "arm64", undefined, "as-shipped"],
    ["linux", "x64", undefined, "refuse"],
    ["linux", "ia32", "2.36", "refuse"],
    ["darwin", "x64", undefined, "refuse"],
    ["win32", "x64", undefined, "refuse"],
  ])("on %s %s with glibc %s: %s", (platform, arch, glibc, kind) => {
    expect(decideLibrary({ platform, arch, glibc }).kind).toBe(kind);
  });
});

onLinux("patchElf", () => {
  it("bends every symbol that glibc 2.36 lacks to an older one of the same meaning", async () => {
    const { patched, changes } = patchElf(await library(1));
    expect(
      changes.map(({ symbol, readsAs, library }) => `${library} ${symbol} -> ${readsAs}`).sort(),
    ).toEqual([
      "libc.so.6 __isoc23_fscanf -> fscanf",
      "libc.so.6 __isoc23_sscanf -> sscanf",
      "libc.so.6 __isoc23_strtol -> strtol",
      "libc.so.6 __isoc23_strtoll -> strtoll",
      "libc.so.6 __isoc23_strtoul -> strtoul",
      "libc.so.6 __isoc23_strtoull -> strtoull",
      "libm.so.6 fmod -> fmod",
    ]);
    expect(requiredGlibcVersions(patched)).not.toContain("2.38");
  });

  it("bends the one symbol of the .node file", async () => {
    const { changes } = patchElf(await library(0));
    expect(changes.map(({ symbol }) => symbol)).toEqual(["__isoc23_strtoul"]);
  });

  it("leaves the given bytes alone and finds nothing to do the second time", async () => {
    const bytes = await library(0);
    const before = Buffer.from(bytes);
    const { patched } = patchElf(bytes);
    expect(bytes.equals(before)).toBe(true);
    const again = patchElf(patched);
    expect(again.changes).toEqual([]);
    expect(again.patched.equals(patched)).toBe(true);
  });

  it("refuses a function that has no older spelling", async () => {
    const bytes = await library(0);
    const name = bytes.indexOf("__isoc23_strtoul\0");
    bytes.write("__isoc99_strtoul", name);
    expect(() => patchElf(bytes)).toThrow("__isoc99_strtoul exists only since GLIBC_2.38");
  });
});

describe("patchElf on other files", () => {
  it.each([
    ["nothing", Buffer.alloc(0)],
    ["a script", Buffer.from(`#!/bin/sh\n${"#".repeat(100)}`)],
    ["a 32-bit ELF file", Buffer.concat([Buffer.from([0x7f, 0x45, 0x4c, 0x46, 1, 1]), Buffer.alloc(100)])],
  ])("refuses %s", (_, bytes) => {
    expect(() => patchElf(bytes)).toThrow("not a 64-bit little-endian ELF file");
  });

  it("refuses a machine it doesn't know", () => {
    const bytes = Buffer.concat([Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]), Buffer.alloc(100)]);
    bytes.writeUInt16LE(243, 18);
    expect(() => patchElf(bytes)).toThrow("unknown ELF machine 243");
  });
});

onLinux("preparePatchedLibraries", () => {
  let cache: string;
  beforeEach(async () => {
    cache = await mkdtemp(join(tmpdir(), "portico-glibc-"));
  });
  afterEach(() => rm(cache, { recursive: true, force: true }));

  it("makes both files side by side, once", async () => {
    const first = await preparePatchedLibraries(cache, "2.36");
    const made = await stat(first);
    expect(await readdir(dirname(first))).toHaveLength(2);
    expect(await preparePatchedLibraries(cache, "2.36")).toBe(first);
    expect((await stat(first)).ino).toBe(made.ino);
  });

  it("lets starts race: all end with the same whole copy, and no draft stays", async () => {
    const paths = await Promise.all([1, 2, 3].map(() => preparePatchedLibraries(cache, "2.36")));
    expect(new Set(paths).size).toBe(1);
    expect(await readdir(cache)).toHaveLength(1);
  });

  it("names what is missing on a glibc that is too old for the copies too", async () => {
    await expect(preparePatchedLibraries(cache, "2.35")).rejects.toThrow(
      "The embedded engine needs glibc 2.36 or newer, and this system has 2.35: set MONGODB_URL to a MongoDB " +
        "server, or run everything with `docker compose up`.",
    );
    expect(await readdir(cache)).toEqual([]);
  });
});

function library(index: 0 | 1): Promise<Buffer> {
  return readFile(shippedLibraries().files[index]);
}
