// A whole system on loopback: data service and gateway as processes of their own, on a database of their own.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { LauncherMessage } from "@portico/shared/launcher-messages";
import { MongoClient } from "mongodb";
import { noteUndocumented, type ServiceName } from "./documented.js";
import { freePort } from "./free-port.js";
import { fileOf, projectRoot } from "./run-state.js";

export interface StackOptions {
  /** Settings of both services, over the defaults of the tests. */
  readonly env?: Readonly<Record<string, string>>;
  /** Fill the database with the demo content (only on an embedded engine of its own). */
  readonly demo?: boolean;
  /** Share this database instead of a fresh one. */
  readonly mongodbUrl?: string;
  /** Be a further gateway and data service of this system: same database, secrets and public address. */
  readonly twinOf?: Stack;
  /** Keep data and secrets here instead of in a fresh folder. */
  readonly dataDir?: string;
  /** Refuse overload as soon as it is shipped. Most suites want none: they run beside others, and send hundreds at once. */
  readonly shipped?: boolean;
}

export interface RunningService {
  readonly url: string;
  readonly process: ChildProcess;
  /** Everything written to standard output: JSON lines. */
  readonly log: () => string;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface Stack {
  readonly appUrl: string;
  readonly dataUrl: string;
  readonly mongodbUrl: string;
  readonly dataDir: string;
  readonly admin: { readonly email: string; readonly password: string };
  readonly gateway: RunningService;
  readonly dataService: RunningService;
  /** Starts the data service again on the same port, after a test has stopped or killed it. */
  restartDataService(): Promise<void>;
  /** The same for the gateway. */
  restartGateway(): Promise<void>;
  stop(): Promise<void>;
}

/** For tests of what others make of an instance's end: they look for it four times a second. */
export const REPAIRING_OFTEN = { REPAIR_EVERY_MS: "250" } as const;

export const ADMIN = { email: "admin@example.com", password: "correct horse battery" } as const;

/** Starts one data service and one gateway; resolves when both are ready. */
export async function startStack({ twinOf, ...own }: StackOptions = {}): Promise<Stack> {
  const options = twinOf === undefined ? own : { ...own, ...sharedBy(twinOf, own) };
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "portico-stack-")));
  const mongodbUrl =
    options.mongodbUrl ??
    (options.demo ? `mongodb_embedded://${dataDir}/mongodb` : freshDatabase(options.shipped ? "" : PATIENT));
  const [dataPort, appPort] = await Promise.all([freePort(), freePort()]);
  const appUrl = `http://localhost:${appPort}`;
  const env = {
    APP_URL: appUrl,
    PORT: String(appPort),
    DATA_SERVICE_PORT: String(dataPort),
    DATA_SERVICE_URL: `http://127.0.0.1:${dataPort}`,
    DATA_DIR: dataDir,
    MONGODB_URL: mongodbUrl,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    DEMO: options.demo ? "on" : "off",
    NODE_ENV: "test",
    LOG_LEVEL: "info",
    MAX_WAIT_MS: options.shipped ? "" : "0",
    ...options.env,
  };
  let [dataService, gateway] = await startBoth(env);
  return {
    appUrl,
    dataUrl: dataService.url,
    mongodbUrl,
    dataDir,
    admin: ADMIN,
    get gateway() {
      return gateway;
    },
    get dataService() {
      return dataService;
    },
    async restartDataService() {
      dataService = await startService("@portico/data-service/main", env);
    },
    async restartGateway() {
      gateway = await startService("@portico/gateway/main", env);
    },
    stop: () =>
      inTurn(
        () => gateway.stop(),
        () => dataService.stop(),
        async () => {
          if (twinOf === undefined) await dropDatabase(mongodbUrl);
        },
        async () => {
          if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
        },
      ),
  };
}

/** At once, for neither needs the other to start. @throws why the data service did not start, or else the gateway */
async function startBoth(env: Readonly<Record<string, string>>): Promise<[RunningService, RunningService]> {
  const [data, door] = [
    startService("@portico/data-service/main", env),
    startService("@portico/gateway/main", env),
  ];
  const ends = await Promise.allSettled([data, door]);
  if (ends.some(({ status }) => status === "rejected"))
    for (const end of ends) if (end.status === "fulfilled") await end.value.stop();
  return [await data, await door];
}

function sharedBy({ mongodbUrl, dataDir, appUrl }: Stack, { env }: StackOptions): StackOptions {
  return { mongodbUrl, dataDir, env: { APP_URL: appUrl, ...env } };
}

/** Another data service of a system: same database and secrets, on a port of its own. */
export function startAnother(
  { appUrl, dataDir, mongodbUrl }: Pick<Stack, "appUrl" | "dataDir" | "mongodbUrl">,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  return startService("@portico/data-service/main", {
    APP_URL: appUrl,
    DATA_DIR: dataDir,
    MONGODB_URL: mongodbUrl,
    DATA_SERVICE_PORT: "0",
    NODE_ENV: "test",
    DEMO: "off",
    LOG_LEVEL: "info",
    ...env,
  });
}

/** How a service waits for a connection of its pool that has to share its machine. */
const PATIENT = "waitQueueTimeoutMS=15000";

/**
 * An address on the run's MongoDB with a database name that nobody else has.
 * @param settings of the address, over those of the run
 */
export function freshDatabase(settings = PATIENT): string {
  const url = process.env.MONGODB_URL;
  if (url === undefined) throw new Error("MONGODB_URL is not set; global-setup must run first");
  const parsed = /^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*(\?.*)?$/.exec(url);
  if (parsed === null) throw new Error(`can't read MONGODB_URL`);
  const all = [parsed[2]?.slice(1) ?? "", settings].filter((each) => each !== "").join("&");
  return `${parsed[1]}/test_${randomBytes(6).toString("hex")}${all === "" ? "" : `?${all}`}`;
}

export async function dropDatabase(mongodbUrl: string): Promise<void> {
  if (mongodbUrl.startsWith("mongodb_embedded:")) return;
  const client = new MongoClient(mongodbUrl);
  await client.db().dropDatabase();
  await client.close();
}

/** A service that is not ready yet. */
export interface StartingService extends Pick<RunningService, "process" | "log" | "stop"> {
  /** Rejects with its problems when it refuses to start. */
  readonly ready: Promise<RunningService>;
}

/** Runs a service as its own process. Rejects with its problems when it refuses to start. */
export function startService(module: string, env: Readonly<Record<string, string>>): Promise<RunningService> {
  return beginService(module, env).ready;
}

/** The same, for whoever looks at it before it is ready. */
export function beginService(module: string, env: Readonly<Record<string, string>>): StartingService {
  const child = spawn(process.execPath, [fileOf(module)], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const output = { log: "", errors: "" };
  child.stdout?.on("data", (chunk: Buffer) => {
    output.log += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    output.errors += chunk.toString();
  });
  // Not `exit`: its last lines may come after that.
  const closed = once(child, "close").then(() => noteUndocumented(nameOf(module), output.log, testFile()));
  const starting = {
    process: child,
    log: () => output.log,
    stop: (signal?: NodeJS.Signals) => stopChild(child, { closed, errors: () => output.errors }, signal),
  };
  const ready = readiness(child, output).then((url) => ({ ...starting, url }));
  // Whoever waits for something else first may fail before anybody asks for it.
  ready.catch(() => undefined);
  return { ...starting, ready };
}

function readiness(child: ChildProcess, output: { errors: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    child.on("message", (message: LauncherMessage) => {
      if (message.type === "ready") resolve(message.url);
      if (message.type === "refused") reject(new Error(message.problems.join("\n")));
    });
    child.once("exit", (code) => reject(new Error(`service ended with ${code}: ${output.errors}`)));
  });
}

/** @throws when it has ended by itself, or badly: a failure that nobody awaits does that (security row L4) */
async function stopChild(
  child: ChildProcess,
  { closed, errors }: { readonly closed: Promise<void>; readonly errors: () => string },
  signal: NodeJS.Signals = "SIGTERM",
): Promise<void> {
  const isAlive = child.exitCode === null && child.signalCode === null;
  const isTold = child.killed;
  if (isAlive) child.kill(signal);
  await closed;
  const isWell = child.exitCode === 0 || child.signalCode === signal;
  // A test that kills it tells it so before.
  const isKilled = isTold && child.signalCode === "SIGKILL";
  if (!isKilled && !(isWell && (isAlive || isTold)))
    throw new Error(`the service ended with ${child.exitCode ?? child.signalCode}: ${errors()}`);
}

/** One after another, all of them. @throws what the first of them threw that failed */
export async function inTurn(...acts: readonly (() => Promise<unknown>)[]): Promise<void> {
  const ends: PromiseSettledResult<unknown>[] = [];
  for (const act of acts) ends.push(...(await Promise.allSettled([act()])));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

function nameOf(module: string): ServiceName {
  return module.includes("gateway") ? "gateway" : "data-service";
}

declare global {
  /** Jest's own, where it runs: benchmarks start services too, and must not import it. */
  var expect: { getState(): { testPath?: string } } | undefined;
}

function testFile(): string {
  return relative(projectRoot, globalThis.expect?.getState().testPath ?? projectRoot);
}
