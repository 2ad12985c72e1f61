// Makes a folder and all its parents.
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * One level after the other: Node's own `recursive` never returns on a file system that answers "not found" when a folder is
 * made there, as /proc does.
 * @throws what the file system says, with its `code`; ENOTDIR when a file is in the way
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  if (await isFolder(path)) return;
  await makeFolder(dirname(path), mode);
  await mkdir(path, { mode }).catch((error: NodeJS.ErrnoException) => {
    // Another process was faster.
    if (error.code !== "EEXIST") throw error;
  });
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (found === undefined || found.isDirectory()) return found !== undefined;
  throw Object.assign(new Error(`${path} is a file`), { code: "ENOTDIR", syscall: "mkdir" });
}
