// Wires the data service: the one file that knows every adapter.
import { systemClock } from "@portico/shared/clock";
import { type Logger, makeLogger } from "@portico/shared/logger";
import type { RequestHandler } from "express";
import { ObjectId } from "mongodb";
import { makeAccessTokens } from "./auth/access-token.js";
import { ensureFirstAdmin } from "./auth/first-admin.js";
import { makeKeyRing } from "./auth/keys.js";
import { makePasswordHasher } from "./auth/password-hasher.js";
import { makeRefreshTokens } from "./auth/refresh-token.js";
import type { AuthRoutesDeps } from "./auth/routes.js";
import { makeSessionCache } from "./auth/session-cache.js";
import { buildCatalog } from "./catalog/build-catalog.js";
import { systemTables } from "./catalog/system-tables.js";
import type { Config } from "./config.js";
import { seedDemo } from "./demo/seed.js";
import { authenticate } from "./http/authenticate.js";
import { loadSecrets, type Secrets } from "./local-secrets.js";
import { makeCatalogStore } from "./mongo/catalog-store.js";
import { makeChangeStore } from "./mongo/change-store.js";
import { connectStore, type Store } from "./mongo/connect.js";
import { LEASE_MS, makeInstanceStore } from "./mongo/instance-store.js";
import { provisionTable } from "./mongo/provision.js";
import { RecordStore } from "./mongo/record-store.js";
import { ensureAuthIndexes, makeSessionStore } from "./mongo/session-store.js";
import { makeTableData } from "./mongo/table-data.js";
import { makeUserStore, userCollection } from "./mongo/user-store.js";
import type { RecordDeps } from "./records/deps.js";
import { makeSealer } from "./records/seal.js";
import { makeUserHooks } from "./records/user-hooks.js";
import { applyAtStart } from "./schema/apply-at-start.js";
import type { ChangeDeps } from "./schema/change-deps.js";
import { makeSweeper } from "./schema/change-table.js";
import { finishInterrupted, type SchemaDeps } from "./schema/create-table.js";
import { CurrentCatalog } from "./schema/current-catalog.js";
import { recoverChanges } from "./schema/end-change.js";
import { Presence } from "./schema/presence.js";
import { WriteGate } from "./schema/write-gate.js";

export interface Deps {
  readonly config: Config;
  readonly logger: Logger;
  readonly store: Store;
  readonly auth: AuthRoutesDeps & AuthParts;
  readonly authenticate: RequestHandler;
  readonly records: RecordDeps & SchemaDeps & ChangeDeps & { readonly changeWaitMs: number };
}

/** Opens everything the service needs. */
export async function makeDeps(config: Config): Promise<Deps> {
  const logger = makeLogger("data-service", config.logLevel);
  const secrets = await loadSecrets(config);
  const store = await connectStore(config.mongodbUrl);
  const auth = await makeAuth(config, secrets, store, logger);
  return {
    config,
    logger,
    store,
    auth,
    authenticate: auth.authenticate,
    records: makeRecords(config, secrets, store, auth, logger),
  };
}

async function makeAuth(
  config: Config,
  secrets: Secrets,
  { db }: Store,
  logger: Logger,
): Promise<AuthRoutesDeps & AuthParts> {
  const keys = await makeKeyRing(secrets.signingKey);
  const users = makeUserStore(db, config.systemTablePrefix);
  const sessions = makeSessionStore(db);
  const clock = systemClock;
  const tokens = {
    access: makeAccessTokens(keys, config.appUrl, config.accessTokenTtlSeconds),
    refresh: makeRefreshTokens(secrets.encryptionKey),
  };
  const sessionCache = makeSessionCache({ sessions, users, clock });
  const hasher = makePasswordHasher();
  return {
    ...{ users, sessions, clock, tokens, sessionCache, hasher, keys, logger },
    authenticate: authenticate({ accessTokens: tokens.access, sessionCache, clock }),
  };
}

/** Parts that other rooms use too. */
interface AuthParts {
  readonly users: ReturnType<typeof makeUserStore>;
  readonly sessionCache: ReturnType<typeof makeSessionCache>;
  readonly hasher: ReturnType<typeof makePasswordHasher>;
}

function makeRecords(
  config: Config,
  secrets: Secrets,
  { db }: Store,
  auth: AuthParts,
  logger: Logger,
): Deps["records"] {
  const clock = systemClock;
  const tables = systemTables(config.systemTablePrefix);
  const catalogStore = makeCatalogStore(db, config.systemTablePrefix);
  const catalogs = new CurrentCatalog(catalogStore, tables, clock);
  const gate = new WriteGate(catalogs);
  const instances = makeInstanceStore(db);
  return {
    ...{ catalogStore, clock, systemTables: tables, systemTablePrefix: config.systemTablePrefix },
    ...{ catalogs, gate, instances, logger },
    presence: new Presence(instances, catalogs, gate, logger),
    changes: makeChangeStore(db),
    data: makeTableData(db),
    // `searchable` and `counted` are kept and do not compute anything yet.
    backfillDerived: async () => {},
    changeWaitMs: config.schemaChangeWaitMs,
    store: new RecordStore(db, config.queryTimeoutMs),
    provision: (table) => provisionTable(db, table),
    limits: { maxDepth: config.queryMaxDepth, maxLimit: config.queryMaxLimit },
    thresholds: {
      maxKeys: config.queryPlanMaxKeys,
      fewParents: config.queryPlanFewParents,
      windowChildren: config.queryPlanWindowChildren,
    },
    sealer: makeSealer(secrets.encryptionKey),
    userHooks: makeUserHooks({
      table: `${config.systemTablePrefix}user`,
      hash: auth.hasher.hash,
      forgetUser: auth.sessionCache.forgetUser,
      otherRootAdmins: (id) =>
        userCollection(db, config.systemTablePrefix).countDocuments(
          { _id: { $ne: ObjectId.createFromHexString(id) }, isRootAdmin: true, isActive: true },
          { limit: 1 },
        ),
    }),
  };
}

/** What must be there before the first request: indexes, the first admin, finished tables, demo content. */
export async function prepare(
  deps: Deps,
): Promise<{ admin: { email: string; password: string } | undefined }> {
  const { config, store, records, auth } = deps;
  await ensureAuthIndexes(store.db, config.systemTablePrefix);
  await prepareTables(deps);
  const admin = await ensureFirstAdmin(auth, { email: config.adminEmail, password: config.adminPassword });
  if (config.schemaFile !== undefined) await applyAtStart(records, config.schemaFile);
  if (config.demo && isEmbedded(config)) await seedDemo({ ...records, db: store.db });
  return { admin };
}

/** System tables, and whatever an earlier process left unfinished. From here on this instance counts as one. */
export async function prepareTables({ config, records }: Deps): Promise<void> {
  for (const table of buildCatalog(0, [], records.systemTables).tables.values())
    await records.provision(table);
  await joinInstances(records, isEmbedded(config));
  await finishInterrupted(records);
}

function isEmbedded({ mongodbUrl }: Config): boolean {
  return mongodbUrl.startsWith("mongodb_embedded:");
}

/** Interrupted changes are ended at the start; one that a living instance makes goes on. */
const RECOVERY_MS = LEASE_MS + 1_000;

async function joinInstances(records: Deps["records"], alone: boolean): Promise<void> {
  // No other process can have an embedded engine open.
  if (alone) await records.instances.clear();
  const sweep = makeSweeper(records);
  await records.presence.start(async () => {
    await recoverChanges(records);
    await sweep();
  });
  const began = performance.now();
  while (!(await recoverChanges(records)) && performance.now() - began < RECOVERY_MS)
    await new Promise((resolve) => setTimeout(resolve, 100));
}
