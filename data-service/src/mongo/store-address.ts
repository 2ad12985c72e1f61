// MONGODB_URL -> where the data is: a directory for the embedded engine, or a server for the driver.
import { resolve } from "node:path";
import { ConfigError } from "@portico/shared/env";

/** Used when the address names no database. */
const DEFAULT_DATABASE = "portico";

export type StoreAddress =
  | { kind: "embedded"; directory: string; database: string }
  | { kind: "server"; url: string; database: string };

/** `[user[:password]@]hosts[/database][?options]`, divided as the driver does. */
const SERVER = /^mongodb(?:\+srv)?:\/\/(?:[^:@]*(?::[^@]*)?@)?([^/?@]*)(?:\/[^?@]*)?(?:\?.*)?$/;
/** Not taken by every server (MongoDB's naming restrictions). */
const NO_DATABASE = /[/\\. "$*<>:|?\0]/;
const MOST_DATABASE_BYTES = 63;
/** MongoDB's own. `/admin` is often meant for where the user is known. */
const OWN_DATABASES = ["admin", "config", "local"];
/** The password ends after the first slash, so that what follows is no name. */
const SLASH_BEFORE_HOST = /^mongodb(?:\+srv)?:\/\/[^/?]*\/[^?]*@/;
const HOST = /^(?:\[[^\]]*\]|[^:[\]#]*)(?::\d{1,5})?$/;

/**
 * Reads `mongodb_embedded://{directory}[?db=name]` (percent-encoded, relative or absolute) or a driver's address.
 * @throws ConfigError when an embedded address names no directory or carries anything but `db`, or another can't be divided
 * or names a port that is none
 */
export function parseStoreAddress(mongodbUrl: string): StoreAddress {
  const embedded = /^mongodb_embedded:\/\/([^?#]*)(?:\?([^#]*))?(#.*)?$/.exec(mongodbUrl);
  if (embedded === null) return serverAddress(mongodbUrl);
  const [, path = "", query = "", fragment] = embedded;
  const directory = decode(path);
  const parameters = new URLSearchParams(query);
  const database = parameters.get("db") ?? DEFAULT_DATABASE;
  const known = [...parameters.keys()].every((name) => name === "db");
  if (directory === undefined || directory === "" || database === "" || !known || fragment !== undefined) {
    throw new ConfigError([
      "MONGODB_URL must read mongodb_embedded://{folder} or mongodb_embedded://{folder}?db={name}.",
    ]);
  }
  return { kind: "embedded", directory, database: checked(database) };
}

/** The driver would take part of a password that is not encoded for a host, and quote it. */
function serverAddress(url: string): StoreAddress {
  const hosts = SERVER.exec(url)?.[1]?.split(",") ?? [];
  const isHosts = hosts.length > 0 && hosts.every((host) => HOST.test(host));
  if (!isHosts || SLASH_BEFORE_HOST.test(url)) {
    throw new ConfigError([
      "MONGODB_URL must read mongodb://{user}:{password}@{host}:{port}/{database}: encode % : / ? # [ ] @ in user and password, as %25 %3A %2F %3F %23 %5B %5D %40.",
    ]);
  }
  // It is not quoted: in an address without a host, it is the password.
  if (!hosts.every(isOnPort)) throw new ConfigError(["MONGODB_URL must name a port from 1 to 65535."]);
  return { kind: "server", url, database: checked(databaseOf(url)) };
}

function isOnPort(host: string): boolean {
  const port = /:(\d+)$/.exec(host)?.[1];
  return port === undefined || (Number(port) > 0 && Number(port) <= 65_535);
}

/** Where the data is, for whoever starts the service; a server's address may hold a password. */
export function describeStore({ mongodbUrl, dataDir }: { mongodbUrl: string; dataDir: string }): string {
  const address = parseStoreAddress(mongodbUrl);
  if (address.kind === "server") return "the MongoDB at MONGODB_URL";
  const directory = resolve(address.directory);
  const isBelow = `${directory}/`.startsWith(`${resolve(dataDir)}/`);
  return `${isBelow ? dataDir : directory} (embedded MongoDB)`;
}

function databaseOf(url: string): string {
  const name = decode(/^mongodb(?:\+srv)?:\/\/[^/?]*\/([^?]*)/.exec(url)?.[1] ?? "");
  return name === undefined || name === "" ? DEFAULT_DATABASE : name;
}

/** @throws ConfigError for a name that no database of ours can have */
function checked(database: string): string {
  // Names that differ in their case alone can't stand beside each other.
  if (OWN_DATABASES.includes(database.toLowerCase()))
    throw new ConfigError([
      `MONGODB_URL must name a database of its own, not MongoDB's "${database}"; where users are known is ?authSource={database}.`,
    ]);
  if (NO_DATABASE.test(database) || Buffer.byteLength(database) > MOST_DATABASE_BYTES)
    throw new ConfigError([
      `MONGODB_URL must name a database without / \\ . " $ * < > : | ? or a space, of ${MOST_DATABASE_BYTES} bytes at most.`,
    ]);
  return database;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
