// Writes a file of which nobody ever finds a part: not after a full disk, and not in the place of one that was whole.
import { type FileHandle, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { ConfigError } from "@portico/shared/env";

/** Replaces what is there. @throws ConfigError that names the file; what was there is as it was */
export async function writeWhole(file: string, text: string): Promise<void> {
  await replace(file, text).catch(refuse(file));
}

/** @param isThere thrown where there is such a file @throws ConfigError that names the file; there is none then */
export async function writeNew(file: string, text: string, isThere: ConfigError): Promise<void> {
  await writeOut(file, "wx", text).catch((error: NodeJS.ErrnoException) => {
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
  const part = `${file}.part`;
  await writeOut(part, "w", text, there?.mode);
  await orRemove(part, () => rename(part, file));
}

async function writeOut(path: string, flag: "w" | "wx", text: string, mode?: number): Promise<void> {
  const handle = await open(path, flag, mode);
  await orRemove(path, () => flushed(handle, text));
}

async function flushed(handle: FileHandle, text: string): Promise<void> {
  try {
    await handle.writeFile(text);
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
