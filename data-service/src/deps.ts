// Wires the data service. All adapters that its requests use are made here and in wiring/.
import { systemClock } from "@portico/shared/clock";
import { ConfigError } from "@portico/shared/env";
import { type Logger, makeLogger } from "@portico/shared/logger";
import type { RequestHandler } from "express";
import { holdsSealedKeys } from "./auth/stored-keys.js";
import { systemTableNames } from "./catalog/system-tables.js";
import type { Config } from "./config.js";
import type { FileDeps } from "./files/deps.js";
import type { FreeSpaceDeps } from "./http/free-space.js";
import { findSecrets, loadSecrets, type Secrets } from "./local-secrets.js";
import { type Metrics, makeMetrics } from "./metrics.js";
import { claimPrefix, hasStarted } from "./mongo/claim-prefix.js";
import { connectStore, type Store } from "./mongo/connect.js";
import { freeBytes } from "./mongo/embedded/disk-room.js";
import { makeKeyStore } from "./mongo/key-store.js";
import { noteBucket } from "./mongo/note-bucket.js";
import type { OpenAddress } from "./mongo/open-address.js";
import { countLiveSessions } from "./mongo/session-store.js";
import { describeStore, parseStoreAddress } from "./mongo/store-address.js";
import { measurePool, traceCommands } from "./mongo/watch-client.js";
import type { ExplainPermissionDeps } from "./records/explain-permission.js";
import type { RecordDeps } from "./records/record-deps.js";
import { AnnouncedSpace, type Disk, spaceCheck } from "./space-check.js";
import { type AuthDeps, type AuthParts, type IdentityDeps, makeAuth, makeIdentity } from "./wiring/auth.js";
import { makeFileParts } from "./wiring/files.js";
import { makeRecords, type RecordParts } from "./wiring/records.js";

export interface Deps {
  readonly config: Config;
  readonly logger: Logger;
  readonly store: Store;
  readonly auth: AuthDeps;
  readonly authenticate: RequestHandler;
  readonly identity: IdentityDeps;
  readonly records: RecordParts;
  readonly files: FileDeps;
  readonly permissions: RecordDeps & ExplainPermissionDeps;
  readonly metrics: Metrics;
  /** Undefined where the database belongs to another process, which watches its own disk. */
  readonly freeSpace: FreeSpaceDeps | undefined;
}

/**
 * Opens everything the service needs, or nothing. Makes what a first start has to make: secrets, and a key to sign with.
 * @param opening the database of the settings, if it is already being opened
 * @param patienceMs how long to wait for a database that can't be reached
 */
export async function makeDeps(
  config: Config,
  opening?: Promise<OpenAddress>,
  patienceMs = 0,
): Promise<Deps> {
  const prefix = config.systemTablePrefix;
  return open(config, { opening, patienceMs }, async ({ db }, logger) => {
    const others = await claimPrefix(db, prefix);
    if (others.length > 0)
      logger.warn({ prefix, others }, "what was made under another SYSTEM_TABLE_PREFIX is not shown");
    const secrets = await loadSecrets(config, () => holdsSealedKeys(makeKeyStore(db)));
    const bucket = await noteBucket(db, config.s3?.bucket);
    if (bucket !== undefined)
      logger.warn(
        { bucket },
        "files that are in this bucket can't be read or removed without S3_ENDPOINT and the rest",
      );
    return secrets;
  });
}

/**
 * The same for a command, which makes nothing by that, neither there nor in DATA_DIR.
 * @throws ConfigError where no service has ever started, or the secret that sealed what is there is not at hand
 */
export async function makeCommandDeps(config: Config, opening?: Promise<OpenAddress>): Promise<Deps> {
  return open(config, { opening, patienceMs: 0 }, async ({ db }) => {
    if (await hasStarted(db, config.systemTablePrefix)) return findSecrets(config);
    const where = `the database "${db.databaseName}" of ${describeStore(config)}`;
    throw new ConfigError([
      `There is no Portico in ${where}; DATA_DIR or MONGODB_URL says where it is, and the service makes one when it first ` +
        "starts.",
    ]);
  });
}

interface Opening {
  readonly opening: Promise<OpenAddress> | undefined;
  readonly patienceMs: number;
}

async function open(
  config: Config,
  { opening, patienceMs }: Opening,
  secretsOf: (store: Store, logger: Logger) => Promise<Secrets>,
): Promise<Deps> {
  const logger = makeLogger("data-service", config.logLevel);
  const metrics = makeMetrics();
  const isTraced = config.otlpEndpoint !== undefined;
  const store = await connectStore(
    opening ?? config.mongodbUrl,
    { monitorCommands: isTraced },
    (client) => {
      measurePool(client, metrics.registry);
      if (isTraced) traceCommands(client);
    },
    { ms: patienceMs, tell: (problem) => logger.warn(`waiting for the database: ${problem}`) },
  );
  try {
    const secrets = await secretsOf(store, logger);
    return await wire({ config, logger, secrets, metrics, store });
  } catch (error) {
    // It would keep the process alive, and an embedded database closed to others.
    await store.close();
    throw error;
  }
}

interface Opened extends Pick<Deps, "config" | "logger" | "metrics" | "store"> {
  readonly secrets: Secrets;
}

/** Makes everything else from what has been opened. */
async function wire({ config, logger, secrets, metrics, store }: Opened): Promise<Deps> {
  metrics.liveSessions(() => countLiveSessions(store.db, systemClock.now()));
  const disk = watchedDisk(config);
  const announced = disk && new AnnouncedSpace(disk);
  const requireSpace = disk && spaceCheck(disk, announced);
  const auth = await makeAuth(config, secrets, store, metrics, logger, requireSpace);
  const files = makeFileParts(config, store, logger, requireSpace);
  const records = makeRecords({
    config,
    secrets,
    store,
    auth,
    files,
    metrics,
    logger,
    requireSpace,
    announced,
  });
  const users: AuthParts["users"] = auth.users;
  return {
    config,
    logger,
    store,
    auth,
    authenticate: auth.authenticate,
    records,
    files: { ...records, ...files, uploadMaxBytes: config.uploadMaxBytes },
    identity: makeIdentity(config, secrets, store, auth),
    permissions: {
      ...records,
      roles: systemTableNames(config.systemTablePrefix).roles,
      principalOf: async (userId) => {
        const found = await users.findActive(userId);
        if (found === undefined) return undefined;
        const { roleId, isRootAdmin } = found;
        return { kind: "user", userId, roleId, isRootAdmin };
      },
    },
    metrics,
    freeSpace: announced && { announced, ...bodiesOf(config) },
  };
}

/** The disk that nobody else looks after. */
function watchedDisk({ mongodbUrl, diskReserveBytes }: Config): Disk | undefined {
  const address = parseStoreAddress(mongodbUrl);
  if (address.kind !== "embedded" || diskReserveBytes === 0) return undefined;
  const { directory } = address;
  return { free: () => freeBytes(directory), reserveBytes: diskReserveBytes };
}

function bodiesOf({ s3, ...sizes }: Config): Omit<FreeSpaceDeps, "announced"> {
  const largestBodyBytes = Math.max(sizes.bodyMaxBytes, sizes.uploadMaxBytes, sizes.importMaxBytes);
  return { largestBodyBytes, keepsNoFiles: s3 !== undefined };
}
