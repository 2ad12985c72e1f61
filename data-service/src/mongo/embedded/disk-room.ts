// Whether the disk has the space that an embedded database needs to open: without it the engine ends the process.
import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { unlessGone } from "../../file-error.js";
import { EngineError } from "./engine-error.js";

const MEBIBYTE = 1024 * 1024;
/** The next file of its journal, a checkpoint of its own tables, and what the first requests write. */
const NEEDED_BYTES = 32 * MEBIBYTE;

/** @param directory on the disk; it exists already */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** @throws EngineError when next to nothing is free */
export async function requireRoomToOpen(path: string): Promise<void> {
  const problem = roomProblem(path, await freeBytes(path), await journalBytes(path));
  if (problem !== undefined) throw new EngineError(problem, { remedy: "make room there" });
}

/** After a crash everything in the journal is written once more, into the files of the tables. */
export function roomProblem(path: string, free: number, journal: number): string | undefined {
  const needed = NEEDED_BYTES + journal;
  if (free >= needed) return undefined;
  const [has, wants] = [Math.floor(free / MEBIBYTE), Math.ceil(needed / MEBIBYTE)];
  return `The disk of the folder ${path} is full: ${has} MiB are free, and the database needs ${wants} MiB to open`;
}

async function journalBytes(path: string): Promise<number> {
  const folder = join(path, "journal");
  // A new folder has none.
  const names = await readdir(folder).catch(() => []);
  const files = await Promise.all(names.map((name) => stat(join(folder, name)).catch(unlessGone)));
  return files.reduce((sum, file) => sum + (file?.size ?? 0), 0);
}
