// An address -> a connected database. Nothing else knows which engine is running.
import { ConfigError } from "@portico/shared/env";
import {
  type Db,
  type DbOptions,
  type Document,
  MongoClient,
  type MongoClientOptions,
  MongoServerError,
} from "mongodb";
import { clientAside } from "./aside.js";
import { type Patience, whenReached } from "./await-server.js";
import { CursorKills } from "./cursor-kills.js";
import { type OpenAddress, openAddress } from "./open-address.js";
import { Readiness } from "./readiness.js";
import { isMongos } from "./sharding.js";

export interface Store {
  client: MongoClient;
  db: Db;
  /** Learned from the server: a replica set or a sharded cluster, not a server alone. */
  cluster: boolean;
  /** Does it answer, however much it has to do? */
  isReady(): Promise<boolean>;
  cursorKills: CursorKills;
  close(): Promise<void>;
}

type WatchClient = (client: MongoClient) => void;

/** Options that an address may override (`?maxPoolSize=200`). */
const DEFAULTS = {
  appName: "portico",
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 5_000,
  maxPoolSize: 50,
  maxIdleTimeMS: 300_000,
  // Less than a client waits; without it, a request would wait forever for a free connection.
  waitQueueTimeoutMS: 2_000,
  // A server stores texts of other programs as they come: one that is no UTF-8 must not keep all others from being read.
  enableUtf8Validation: false,
} as const satisfies MongoClientOptions;

const AUTHENTICATION_FAILED = [18, 8000];

/** MongoDB 6.0. Pipelines use `$documents`, which came with 5.1, and no 5.x is maintained any more. */
const OLDEST_WIRE_VERSION = 17;

/**
 * Connects to the database that MONGODB_URL names, opening the embedded engine for `mongodb_embedded://`.
 * @param mongodbUrl what it says, or what was opened for it, which is closed with the store
 * @param options what a test sets differently
 * @param watch gets the client before it connects, to listen to its events
 * @param patience for a server that may still be starting; without it nobody waits
 * @throws ConfigError (EngineError is one) with one clear sentence when nothing answers there
 */
export async function connectStore(
  mongodbUrl: string | Promise<OpenAddress>,
  options: MongoClientOptions = {},
  watch: WatchClient = () => {},
  patience?: Patience,
): Promise<Store> {
  const address = await (typeof mongodbUrl === "string" ? openAddress(mongodbUrl) : mongodbUrl);
  try {
    return closingAddress(await connectDriver(address, options, watch, patience), address);
  } catch (error) {
    await address.close();
    throw error;
  }
}

async function connectDriver(
  { url, database }: OpenAddress,
  options: MongoClientOptions,
  watch: WatchClient,
  patience: Patience | undefined,
): Promise<Store> {
  const client = makeClient(url, options);
  watch(client);
  const greet = async (): Promise<Document> => {
    await client.connect();
    return client.db("admin").command({ hello: 1 });
  };
  try {
    const hello = await whenReached(greet, patience, (error) => connectionProblem(client, error).message);
    if (isTooOld(hello)) throw tooOld(client);
    // Set on the database, because an address can weaken what is set on the client.
    const db = client.db(database, guaranteesFor(hello));
    const cluster = isCluster(hello);
    const routedTo = isMongos(hello) ? database : undefined;
    const aside = clientAside(url, optionsFor(url, options));
    const readiness = new Readiness(aside, routedTo);
    const cursorKills = new CursorKills(aside.db(database));
    const close = async (): Promise<void> => {
      cursorKills.close();
      await Promise.all([aside.close(), client.close()]);
    };
    return { client, db, cluster, isReady: () => readiness.ask(), cursorKills, close };
  } catch (error) {
    await client.close();
    throw error instanceof ConfigError ? error : connectionProblem(client, error);
  }
}

function closingAddress(store: Store, address: OpenAddress): Store {
  return {
    ...store,
    async close() {
      try {
        await store.close();
      } finally {
        await address.close();
      }
    },
  };
}

/**
 * How long a write waits for the other members of a set: as long as a query may take. After it nobody knows whether it stays.
 * Without a limit, writes that wait would take all connections from the reads.
 */
const CONFIRMED_WITHIN_MS = 15_000;

/** What correctness depends on, for the server that gave this answer to `hello`. */
export function guaranteesFor(hello: Document): DbOptions {
  return {
    // An answered write is on disk, on most members. A standalone server is asked with `w: 1`: for "majority" it relies on
    // replication, which it hasn't got, to bring writes to disk, and the embedded engine then loses answered writes to kill
    // -9.
    writeConcern: isCluster(hello)
      ? { w: "majority", journal: true, wtimeoutMS: CONFIRMED_WITHIN_MS }
      : { w: 1, journal: true },
    // A token or a rule that was just changed must be seen by the next read.
    readPreference: "primary",
  };
}

/** Does the server that gave this answer to `hello` lack what queries need? One that names no version does. */
export function isTooOld(hello: Document): boolean {
  return !(Number(hello.maxWireVersion) >= OLDEST_WIRE_VERSION);
}

function isCluster(hello: Document): boolean {
  return typeof hello.setName === "string" || isMongos(hello);
}

function makeClient(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(url, optionsFor(url, options));
  } catch (error) {
    // The driver's sentence names the option, and of an address that could be divided never the password.
    throw new ConfigError([`MONGODB_URL can't be used: ${messageOf(error)}.`]);
  }
}

function optionsFor(url: string, options: MongoClientOptions): MongoClientOptions {
  return { ...defaultsFor(url), ...options };
}

/** Options given to the driver override the address, so a default that the address sets is left out. */
function defaultsFor(url: string): MongoClientOptions {
  const query = new URLSearchParams(url.split("?")[1] ?? "");
  const chosen = new Set([...query.keys()].map((name) => name.toLowerCase()));
  return Object.fromEntries(Object.entries(DEFAULTS).filter(([name]) => !chosen.has(name.toLowerCase())));
}

function tooOld(client: MongoClient): ConfigError {
  return new ConfigError([
    `MongoDB at ${hostsOf(client)} is older than 6.0, which Portico needs: upgrade it, or correct MONGODB_URL.`,
  ]);
}

/** Nobody answers there, or not to this user. */
export class NoConnection extends ConfigError {}

function connectionProblem(client: MongoClient, error: unknown): NoConnection {
  const hosts = hostsOf(client);
  const isRefusal = error instanceof MongoServerError && AUTHENTICATION_FAILED.includes(Number(error.code));
  const problem = isRefusal
    ? `MongoDB at ${hosts} refuses the user or password in MONGODB_URL.`
    : `No MongoDB answers at ${hosts} (${reasonOf(error)}): start it, or correct MONGODB_URL.`;
  const refusal = new NoConnection([problem]);
  refusal.cause = error;
  return refusal;
}

/** In the driver's words, but where these hide that something else may listen there. */
function reasonOf(error: unknown): string {
  const message = messageOf(error);
  if (/^connection .* closed$/.test(message))
    return "what listens there closed the connection: it may be another program, or want ?tls=true";
  const [, ms] = /^Server selection timed out after (\d+) ms$/.exec(message) ?? [];
  if (ms === undefined) return message;
  return `there was no answer in ${ms} ms: if something listens there, it may be another program`;
}

/** Without user and password. */
function hostsOf({ options }: MongoClient): string {
  return options.srvHost ?? options.hosts.join(", ");
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ").replace(/\.$/, "");
}
