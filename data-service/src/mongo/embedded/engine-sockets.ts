// Where the engine's Unix socket is: a folder with a short enough path, cleared of sockets left by killed processes.
import { constants } from "node:fs";
import { access, readdir, rmdir, stat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EngineError } from "./engine-error.js";

/** The package makes a folder of this name, followed by six letters, in the temporary folder. */
const FOLDER_PREFIX = "embedded-mongodb-";
const SOCKET_NAME = "mongodb.sock";
/** `sun_path` holds 104 bytes on macOS and 108 on Linux, the last one being NUL. */
const MAX_SOCKET_PATH_BYTES = 103;
/** A younger folder may belong to a process that is about to listen. */
const STALE_AFTER_MS = 60_000;

/**
 * The folder to use as the engine's temporary folder; it doesn't depend on how deep the data lies.
 * @throws EngineError when no folder is writable and short enough
 */
export async function chooseSocketFolder(
  candidates: readonly string[] = [tmpdir(), "/tmp"],
): Promise<string> {
  for (const folder of candidates) {
    if (fits(folder) && (await isWritable(folder))) return folder;
  }
  const tried = [...new Set(candidates)].join(", ");
  throw new EngineError(`The embedded engine found no folder for its socket (tried ${tried})`, {
    remedy: "set TMPDIR to a writable folder with a short path",
  });
}

/** Removes the sockets of engines whose process was killed; those in use and those of other users stay. */
export async function removeStaleSockets(folder: string, now: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const ours = names.filter((name) => name.startsWith(FOLDER_PREFIX)).map((name) => join(folder, name));
  await Promise.all(ours.map((path) => removeIfStale(path, now).catch(() => undefined)));
}

async function removeIfStale(path: string, now: number): Promise<void> {
  const { mtimeMs, uid } = await stat(path);
  if (uid !== process.getuid?.() || now - mtimeMs < STALE_AFTER_MS) return;
  const socket = join(path, SOCKET_NAME);
  if (!(await refusesConnections(socket))) return;
  // Not `rm`: it asks what each file is, and after that, if the last one was a socket, Node 20 does not follow the links of
  // packages that are imported (its `realpathSync` takes that answer for its own).
  await unlink(socket);
  await rmdir(path);
}

/** Is there an engine at this address? A note that was made on a full disk is empty. */
export async function listens(uri: string): Promise<boolean> {
  return URL.canParse(uri) && (await problemOf(decodeURIComponent(new URL(uri).hostname))) === undefined;
}

/** True only for a socket nobody listens on, not for one that is missing or busy. */
async function refusesConnections(socketPath: string): Promise<boolean> {
  return (await problemOf(socketPath)) === "ECONNREFUSED";
}

/** Why a socket takes no connection; undefined when it takes one. */
function problemOf(socketPath: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    socket.once("connect", () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, `${FOLDER_PREFIX}XXXXXX`, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES;
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}
