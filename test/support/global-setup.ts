// Before all tests: one embedded MongoDB for the whole run, unless MONGODB_URL names a real one.
import { mkdtemp, readdir, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngine } from "./engine-of-run.js";
import { endEngine } from "./global-teardown.js";
import { engineOfRun } from "./run-state.js";

/** Several times what the data of a run comes to. */
const ROOM_BYTES = 4 * 1024 ** 3;

export default async function setUp(): Promise<void> {
  process.env.PORTICO_UNDOCUMENTED = join(await mkdtemp(join(tmpdir(), "portico-answers-")), "undocumented");
  if (process.env.MONGODB_URL !== undefined) return;
  const folder = await folderOfData();
  await removeLeft(folder);
  const directory = await mkdtemp(join(folder, `portico-test-${process.pid}-`));
  const engine = await startEngine(join(directory, "mongodb"));
  process.env.MONGODB_URL = engine.uri;
  engineOfRun.engine = { process: engine.process, directory };
  // Jest tears nothing down when it is interrupted. A signal may come twice: from a terminal, and from who started this.
  const end = (): never => process.exit(1);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(signal, () => void endEngine().then(end, end));
}

/** A run that was killed leaves its data behind. */
async function removeLeft(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid] = /^portico-test-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || isRunning(Number(pid))) continue;
    // It may be somebody else's, or go by another run that starts now.
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It is somebody else's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/**
 * Memory, where there is plenty: nobody needs the data after the run, and each write that is confirmed would wait for a disk.
 * What is tested about disks and crashes has engines of its own, on disk.
 */
async function folderOfData(): Promise<string> {
  const memory = "/dev/shm";
  const free = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return Math.min(free, process.availableMemory()) < ROOM_BYTES ? tmpdir() : memory;
}
