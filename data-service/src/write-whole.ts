// Replaces a file as a whole, or makes a new one; neither leaves a part of it behind where the disk is full.
import { randomUUID } from "node:crypto";
import { type FileHandle, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { ConfigError } from "@portico/shared/env";
import { isFileError } from "./file-error.js";

/**
 * Replaces what is there.
 * @throws ConfigError that names the file; what was there is as it was, unless nothing can take its place
 */
export async function writeWhole(file: string, text: string): Promise<void> {
  await replace(file, text).catch(refuse(file));
}

/** @param isThere thrown where there is such a file @throws ConfigError that names the file; there is none then */
export async function writeNew(file: string, text: string, isThere: ConfigError): Promise<void> {
  await writeOut(file, text).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EEXIST") throw isThere;
    return refuse(file)(error);
  });
}

async function replace(named: string, text: string): Promise<void> {
  // A link stays one.
  const file = await realpath(named).catch(() => named);
  const there = await stat(file).catch(() => undefined);
  // In the place of a device or a pipe, as /dev/stdout is one, a file is not what was asked for.
  if (there?.isFile() === false) return writeFile(file, text);
  // Others may be writing the same file.
  const part = `${file}.${randomUUID()}.part`;
  try {
    await writeOut(part, text, there?.mode);
    await orRemove(part, () => rename(part, file));
  } catch (error) {
    if (there === undefined || !isIrreplaceable(error)) throw error;
    await writeFile(file, text);
  }
}

const IRREPLACEABLE = ["EBUSY", "EACCES", "EPERM", "EROFS"];

/** A mount of its own, or a file in a folder of others, can only be written. */
function isIrreplaceable(error: unknown): boolean {
  return isFileError(error) && IRREPLACEABLE.includes(error.code ?? "");
}

/** Makes a new file. */
async function writeOut(path: string, text: string, mode?: number): Promise<void> {
  const handle = await open(path, "wx", mode);
  await orRemove(path, () => flushed(handle, text, mode));
}

async function flushed(handle: FileHandle, text: string, mode: number | undefined): Promise<void> {
  try {
    await handle.writeFile(text);
    // `open` has taken off what the umask says.
    if (mode !== undefined) await handle.chmod(mode & 0o777);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function orRemove(path: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

function refuse(file: string): (error: NodeJS.ErrnoException) => never {
  return ({ code }) => {
    throw new ConfigError([`${file} can't be written (${code}).`]);
  };
}
