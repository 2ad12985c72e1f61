// Names in a folder -> on disk, as far as the system can do that.
import { open } from "node:fs/promises";

/** Resolves when the names in the folder survive a power cut, or the system has nothing to make them do so. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } catch (error) {
    if (!isUnsupported(error, process.platform)) throw error;
  } finally {
    await handle.close();
  }
}

/** Windows refuses to sync any folder, and some file systems have nothing to sync. */
export function isUnsupported(error: unknown, platform: NodeJS.Platform): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "EINVAL" || (code === "EPERM" && platform === "win32");
}
