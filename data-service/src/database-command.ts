// What the commands that work directly on the database share: opening it, closing it, and saying what went wrong.
import { AppError } from "@portico/shared/app-error";
import { ConfigError } from "@portico/shared/env";
import { STOP_TIMEOUT_MS } from "@portico/shared/server";
import type { Config } from "./config.js";
import { type Deps, makeCommandDeps } from "./deps.js";
import { isFileError } from "./file-error.js";
import { NoConnection } from "./mongo/connect.js";
import { tellingFullDisk } from "./mongo/driver-errors.js";
import { EngineError } from "./mongo/embedded/engine-error.js";
import { INSTANCE_LEASE_MS } from "./mongo/instance-store.js";
import { type OpenAddress, openToRead, requireDatabase } from "./mongo/open-address.js";
import { describeStore } from "./mongo/store-address.js";
import { prepareTables } from "./prepare.js";
import { areRulesFollowed } from "./schema/rule-change.js";
import { until } from "./until.js";

const LOOK_MS = 50;

/** A command says itself what it does; the log is for what goes wrong. An empty LOG_LEVEL is none, as everywhere. */
export function commandSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, LOG_LEVEL: env.LOG_LEVEL || "warn" };
}

/**
 * Acts on the database, whether data services are running or not.
 * @param hint what else can be done when the embedded engine is in use
 * @throws ConfigError when the database can't be opened
 */
export async function withDatabase<Result>(
  config: Config,
  hint: string,
  act: (deps: Deps) => Promise<Result>,
): Promise<Result> {
  requireDatabase(config.mongodbUrl);
  const deps = await makeCommandDeps(config).catch((error: unknown) => {
    throw asConfigError(error, hint);
  });
  return closing(deps, async () => {
    await prepareTables(deps);
    return act(deps);
  });
}

/**
 * The same for commands that only read. They change nothing, not even what a start would put right: it may be another version
 * that serves there. And they need not wait for a service to let go of an embedded engine.
 * @throws ConfigError when the database can't be opened
 */
export async function withReadDatabase<Result>(
  config: Config,
  hint: string,
  act: (deps: Deps) => Promise<Result>,
): Promise<Result> {
  requireDatabase(config.mongodbUrl);
  const deps = await openedToRead(config.mongodbUrl, hint, (address) => makeCommandDeps(config, address));
  return closing(deps, async () => {
    await requireFollowed(deps);
    return act(deps);
  });
}

/**
 * What can be made of an address that is opened only to read, through the service that has an embedded engine open if there
 * is one.
 * @param make connects to the address, and closes it where it can't
 * @throws ConfigError when the database can't be opened
 */
export async function openedToRead<Opened>(
  mongodbUrl: string,
  hint: string,
  make: (address: Promise<OpenAddress>) => Promise<Opened>,
): Promise<Opened> {
  const address = await openToRead(mongodbUrl).catch((error: unknown) => {
    throw asConfigError(error, hint);
  });
  return make(Promise.resolve(address)).catch((error: unknown) => {
    // The service that has it open does not answer.
    throw address.isShared && error instanceof NoConnection
      ? new ConfigError([...error.problems, hint])
      : error;
  });
}

async function closing<Result>(deps: Deps, act: () => Promise<Result>): Promise<Result> {
  try {
    return await tellingFullDisk(describeStore(deps.config), act);
  } finally {
    await deps.records.presence.stop(STOP_TIMEOUT_MS);
    await deps.store.close();
  }
}

/**
 * Whoever only reads waits for a change of tables that is under way, and ends none. What looks alive may have died a moment ago:
 * it is asked for as long as that may be.
 */
async function requireFollowed({ records }: Deps): Promise<void> {
  // In this order: whoever loads definitions copies those that are not in their place yet.
  const isEnded = async () => (await records.catalogStore.isSettled()) && areRulesFollowed(records);
  const state = async () =>
    (await isEnded()) ? "ended" : (await records.instances.anyLives()) ? false : "interrupted";
  const patienceMs = 2 * INSTANCE_LEASE_MS;
  if ((await until(state, { patienceMs, everyMs: LOOK_MS, tooLate: () => "under way" })) !== "interrupted")
    return;
  throw new ConfigError([
    "A change of a table was interrupted, and no service is running that would end it: start the service first.",
  ]);
}

/** The same, with the hint where it is another process that has the embedded engine open. */
export function asConfigError(error: unknown, hint: string): unknown {
  return error instanceof EngineError && error.isInUse ? new ConfigError([...error.problems, hint]) : error;
}

/** Reports it on standard error, in plain words if it was foreseen. @returns the exit code */
export function explainFailure(error: unknown): number {
  const isExpected = error instanceof ConfigError || error instanceof AppError || isFileError(error);
  const text = error instanceof ConfigError ? error.problems.join("\n") : String(error);
  process.stderr.write(`${isExpected || !(error instanceof Error) ? text : error.stack}\n`);
  return 1;
}
