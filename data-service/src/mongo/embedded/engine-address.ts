// Where an open engine can be reached: noted in its folder, for commands that read while a service has it open.
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The socket itself is elsewhere, in a folder that only this user can enter. */
const NAME = "portico-address";

/**
 * On a full disk there is no note, and those commands have to wait.
 * @returns removes the note
 */
export async function noteAddress(directory: string, uri: string): Promise<() => Promise<void>> {
  const file = join(directory, NAME);
  await writeFile(file, uri, { mode: 0o600 }).catch(() => {});
  return () => rm(file, { force: true }).catch(() => {});
}

/** The note of a process that was killed is still there. @returns undefined when there is none */
export function notedAddress(directory: string): Promise<string | undefined> {
  return readFile(join(directory, NAME), "utf8").catch(() => undefined);
}
