// MONGODB_URL -> an address that a driver can connect to, with the embedded engine opened where it names one.
import { openEmbeddedEngine } from "./embedded/engine.js";
import { parseStoreAddress } from "./store-address.js";

export interface OpenAddress {
  /** For the driver. */
  readonly url: string;
  readonly database: string;
  /** Closes what was opened for it; a server that was there before stays as it is. */
  close(): Promise<void>;
}

/**
 * Light to import, so that an engine can open on its thread while the rest of the service is still being loaded.
 * @throws ConfigError (EngineError is one) with one clear sentence
 */
export async function openAddress(mongodbUrl: string): Promise<OpenAddress> {
  const address = parseStoreAddress(mongodbUrl);
  const { database } = address;
  if (address.kind === "server") return { url: address.url, database, close: async () => {} };
  const engine = await openEmbeddedEngine(address.directory);
  return { url: engine.uri, database, close: () => engine.close() };
}
