// A file that a script writes: what was there stays until all of the new one is.
import { lstat, open, realpath, rename, rm, stat } from "node:fs/promises";
import { SetupError } from "./run-script.mjs";

/**
 * @param {string} file
 * @param {(handle: import("node:fs/promises").FileHandle) => Promise<number>} write the exit code: 0 when all is written
 * @returns that exit code
 */
export async function replaceFile(file, write) {
  const refuse = (error) => {
    if (error instanceof SetupError) throw error;
    throw new SetupError(`${file} can't be written (${error.code}).`);
  };
  const { path, isReplaced, mode } = await targetOf(file).catch(refuse);
  // What is cut off must not look like a whole file.
  const written = isReplaced ? `${path}.part` : path;
  const handle = await open(written, "w", mode).catch(refuse);
  try {
    // `open` has taken off what the umask says, and an older part keeps its own.
    if (mode !== undefined) await handle.chmod(mode & 0o777).catch(refuse);
    const code = await write(handle).catch(refuse);
    if (code === 0 && isReplaced) await rename(written, path).catch(refuse);
    return code;
  } finally {
    await handle.close();
    if (isReplaced) await rm(written, { force: true });
  }
}

/** A file is replaced, also one that a link leads to, by one that the same people may read; what is none, a pipe or a device, is only written to. */
async function targetOf(file) {
  const there = await lstat(file).catch((error) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (there === undefined) return { path: file, isReplaced: true };
  const target = await stat(file);
  if (!target.isFile()) return { path: file, isReplaced: false };
  return { path: await realpath(file), isReplaced: true, mode: target.mode };
}
