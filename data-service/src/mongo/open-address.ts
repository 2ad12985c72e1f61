// MONGODB_URL -> an address that a driver can connect to, with the embedded engine opened if the address names one.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError } from "@portico/shared/env";
import { openEmbeddedEngine } from "./embedded/engine.js";
import { noteAddress, notedAddress } from "./embedded/engine-address.js";
import { EngineError } from "./embedded/engine-error.js";
import { listens } from "./embedded/engine-sockets.js";
import { parseStoreAddress } from "./store-address.js";

export interface OpenAddress {
  /** For the driver. */
  readonly url: string;
  readonly database: string;
  /** Closes what was opened for it; a server that was already running stays as it is. */
  close(): Promise<void>;
}

/**
 * Quick to import, so that an engine can open on its thread while the rest of the service is still being loaded.
 * @throws ConfigError (EngineError is one) with one clear sentence
 */
export async function openAddress(mongodbUrl: string): Promise<OpenAddress> {
  const address = parseStoreAddress(mongodbUrl);
  const { database } = address;
  if (address.kind === "server") return { url: address.url, database, close: async () => {} };
  const engine = await openEmbeddedEngine(address.directory);
  const forget = await noteAddress(address.directory, engine.uri);
  return { url: engine.uri, database, close: () => forget().finally(() => engine.close()) };
}

/**
 * For whoever works on a database that is there, which every command does: only the service makes one.
 * @param whereItIs what says where it is, in words
 * @throws ConfigError when there is none in the folder that is named
 */
export function requireDatabase(
  mongodbUrl: string,
  whereItIs = "DATA_DIR or MONGODB_URL says where it is, and the service makes one when it first starts",
): void {
  const address = parseStoreAddress(mongodbUrl);
  if (address.kind === "server" || existsSync(join(address.directory, "WiredTiger"))) return;
  throw new ConfigError([`There is no database at ${resolve(address.directory)}; ${whereItIs}.`]);
}

/** An opened database, and whether another process has it open. */
export interface SharedAddress extends OpenAddress {
  readonly isShared: boolean;
}

/**
 * Opens an address only to read: if a service of this user has an embedded database open, it is read through that. Whatever
 * an opening fails by, a full disk for one, is then no problem of those who only read. But it is tried first: the note in a
 * copy of the folder leads to the original.
 * @throws ConfigError as `openAddress` does
 */
export async function openToRead(mongodbUrl: string): Promise<SharedAddress> {
  const asked = parseStoreAddress(mongodbUrl);
  try {
    return { ...(await openAddress(mongodbUrl)), isShared: false };
  } catch (error) {
    if (asked.kind === "server" || !(error instanceof EngineError)) throw error;
    const url = await notedAddress(asked.directory);
    if (url === undefined || !(await listens(url))) throw error;
    return { url, database: asked.database, isShared: true, close: async () => {} };
  }
}
