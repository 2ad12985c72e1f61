// Packages in which a known fault was mended: no version from before is installed, by whatever wants it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { projectRoot } from "../support/run-state.js";

/** The first version without faults that are known and concern us. */
const FLOORS: readonly [string, readonly [number, number, number]][] = [
  ["passport", [0, 7, 0]],
  // 1.6.1: CVE-2021-41580. The providers' strategies all build on it.
  ["passport-oauth2", [1, 8, 0]],
  // Eight ways to stop a process, from 2025 to 2026.
  ["multer", [2, 2, 0]],
  ["http-proxy-middleware", [4, 1, 1]],
  ["cookie", [0, 7, 0]],
  ["jose", [6, 0, 0]],
];

it.each(FLOORS)("%s", async (name, floor) => {
  const lockfile = await readFile(join(projectRoot, "pnpm-lock.yaml"), "utf8");
  const packages = lockfile.slice(lockfile.indexOf("\npackages:\n"), lockfile.indexOf("\nsnapshots:\n"));
  const installed = [...packages.matchAll(/^ {2}'?((?:@[^@/]+\/)?[^@\s']+)@(\d+)\.(\d+)\.(\d+)/gm)]
    .filter(([, each]) => each === name)
    .map(([, , ...numbers]) => numbers.map(Number));
  expect(installed).not.toEqual([]);
  for (const version of installed) expect([version, isAtLeast(version, floor)]).toEqual([version, true]);
});

function isAtLeast(version: readonly number[], floor: readonly number[]): boolean {
  const at = floor.findIndex((number, place) => number !== version[place]);
  return at === -1 || (version[at] ?? 0) > (floor[at] ?? 0);
}
