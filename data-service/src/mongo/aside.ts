// A connection beside those that serve requests, for what must be asked while all of these are busy.
import { MongoClient, type MongoClientOptions } from "mongodb";

/** Less than a probe waits, such as the gateway's (2 s). */
export const ASIDE_LIMIT_MS = 1_500;

/**
 * Connects when it is first used.
 * @param options those of the client that serves requests
 */
export function clientAside(url: string, options: MongoClientOptions): MongoClient {
  return new MongoClient(url, {
    ...options,
    maxPoolSize: 1,
    minPoolSize: 0,
    monitorCommands: false,
    serverSelectionTimeoutMS: ASIDE_LIMIT_MS,
    waitQueueTimeoutMS: ASIDE_LIMIT_MS,
  });
}
