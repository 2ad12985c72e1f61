// Wires the data service: the one file that knows every adapter.
import { systemClock } from "@portico/shared/clock";
import { type Logger, makeLogger } from "@portico/shared/logger";
import type { RequestHandler } from "express";
import { ObjectId } from "mongodb";
import { makeAccessTokens } from "./auth/access-token.js";
import { makeAccountDigest } from "./auth/account-digest.js";
import { makeApiTokenCache } from "./auth/api-token-cache.js";
import type { ApiTokensDeps } from "./auth/api-tokens.js";
import { makeAudit } from "./auth/audit.js";
import { ensureFirstAdmin } from "./auth/first-admin.js";
import type { KeyRoutesDeps } from "./auth/key-routes.js";
import { makeKeySealer } from "./auth/key-sealer.js";
import { makePasswordHasher } from "./auth/password-hasher.js";
import { makeRefreshTokens } from "./auth/refresh-token.js";
import type { AuthRoutesDeps } from "./auth/routes.js";
import { makeSessionCache } from "./auth/session-cache.js";
import { openStoredKeys } from "./auth/stored-keys.js";
import { makeThrottle } from "./auth/throttle.js";
import { buildCatalog } from "./catalog/build-catalog.js";
import { systemTables } from "./catalog/system-tables.js";
import type { Config } from "./config.js";
import { seedDemo } from "./demo/seed.js";
import { authenticate } from "./http/authenticate.js";
import { loadSecrets, type Secrets } from "./local-secrets.js";
import { makeApiTokenStore } from "./mongo/api-token-store.js";
import { makeAuditStore } from "./mongo/audit-store.js";
import { makeCatalogStore } from "./mongo/catalog-store.js";
import { connectStore, type Store } from "./mongo/connect.js";
import { makeKeyStore } from "./mongo/key-store.js";
import { provisionTable } from "./mongo/provision.js";
import { RecordStore } from "./mongo/record-store.js";
import { authSweeps, ensureAuthIndexes, makeSessionStore } from "./mongo/session-store.js";
import { sweepRegularly } from "./mongo/sweep.js";
import { makeThrottleStore } from "./mongo/throttle-store.js";
import { makeUserStore, userCollection } from "./mongo/user-store.js";
import type { RecordDeps } from "./records/deps.js";
import { makeSealer } from "./records/seal.js";
import { makeUserHooks } from "./records/user-hooks.js";
import { finishInterrupted, type SchemaDeps } from "./schema/create-table.js";
import { CurrentCatalog } from "./schema/current-catalog.js";

export interface Deps {
  readonly config: Config;
  readonly logger: Logger;
  readonly store: Store;
  readonly auth: AuthDeps;
  readonly authenticate: RequestHandler;
  readonly records: RecordDeps & SchemaDeps;
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
    records: makeRecords(config, secrets, store, auth),
  };
}

async function makeAuth(config: Config, secrets: Secrets, { db }: Store, logger: Logger): Promise<AuthDeps> {
  const clock = systemClock;
  const keys = await openStoredKeys(
    {
      store: makeKeyStore(db),
      sealer: makeKeySealer(secrets.encryptionKey),
      ...{ clock, ttlSeconds: config.accessTokenTtlSeconds },
    },
    secrets.signingKey,
  );
  const users = makeUserStore(db, config.systemTablePrefix);
  const sessions = makeSessionStore(db);
  const apiTokens = makeApiTokenStore(db);
  const tokens = {
    access: makeAccessTokens(keys, config.appUrl, config.accessTokenTtlSeconds),
    refresh: makeRefreshTokens(secrets.encryptionKey),
  };
  const sessionCache = makeSessionCache({ sessions, users, clock });
  const apiTokenCache = makeApiTokenCache({ apiTokens, users, clock });
  const hasher = makePasswordHasher();
  const digest = makeAccountDigest(secrets.encryptionKey);
  const throttle = makeThrottle({ store: makeThrottleStore(db), digest, clock });
  const entries = makeAuditStore(db, config.systemTablePrefix);
  const audit = makeAudit({ entries, clock, logger });
  return {
    ...{ users, sessions, apiTokens, clock, tokens, sessionCache, apiTokenCache, hasher, keys, logger },
    ...{ digest, throttle, audit, sweeps: [...authSweeps(db), entries.sweep] },
    authenticate: authenticate({ accessTokens: tokens.access, sessionCache, apiTokenCache, clock }),
  };
}

type AuthDeps = AuthRoutesDeps & ApiTokensDeps & KeyRoutesDeps & AuthParts;

/** Parts that other rooms use too. */
interface AuthParts {
  readonly users: ReturnType<typeof makeUserStore>;
  readonly sessions: ReturnType<typeof makeSessionStore>;
  readonly apiTokens: ReturnType<typeof makeApiTokenStore>;
  readonly sessionCache: ReturnType<typeof makeSessionCache>;
  readonly apiTokenCache: ReturnType<typeof makeApiTokenCache>;
  readonly hasher: ReturnType<typeof makePasswordHasher>;
  readonly throttle: ReturnType<typeof makeThrottle>;
  /** What clears expired things away. */
  readonly sweeps: readonly ((now: Date) => Promise<unknown>)[];
}

function makeRecords(
  config: Config,
  secrets: Secrets,
  { db }: Store,
  auth: AuthParts,
): RecordDeps & SchemaDeps {
  const clock = systemClock;
  const tables = systemTables(config.systemTablePrefix);
  const catalogStore = makeCatalogStore(db, config.systemTablePrefix);
  return {
    ...{ catalogStore, clock, systemTables: tables, systemTablePrefix: config.systemTablePrefix },
    catalogs: new CurrentCatalog(catalogStore, tables, clock),
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
      forgetUser(userId) {
        auth.sessionCache.forgetUser(userId);
        auth.apiTokenCache.forgetAll();
      },
      clearAway: (userId) => clearAway(auth, userId),
      otherRootAdmins: (id) =>
        userCollection(db, config.systemTablePrefix).countDocuments(
          { _id: { $ne: ObjectId.createFromHexString(id) }, isRootAdmin: true, isActive: true },
          { limit: 1 },
        ),
    }),
  };
}

/** Sessions that a change has ended, and everything a deleted user had. */
async function clearAway({ users, sessions, apiTokens }: AuthParts, userId: string): Promise<void> {
  const user = await users.findById(userId);
  await sessions.removeAllBut(userId, user?.epoch);
  if (user === undefined) await apiTokens.removeAllOf(userId);
}

/** What must be there before the first request: indexes, the first admin, finished tables, demo content. */
export async function prepare(
  deps: Deps,
): Promise<{ admin: { email: string; password: string } | undefined; stopSweeping: () => void }> {
  const { config, store, records, auth } = deps;
  await ensureAuthIndexes(store.db, config.systemTablePrefix);
  for (const table of buildCatalog(0, [], records.systemTables).tables.values())
    await records.provision(table);
  const admin = await ensureFirstAdmin(auth, { email: config.adminEmail, password: config.adminPassword });
  await finishInterrupted(records);
  if (config.demo && config.mongodbUrl.startsWith("mongodb_embedded:"))
    await seedDemo({ ...records, db: store.db });
  return { admin, stopSweeping: sweepRegularly(auth.sweeps, deps.auth) };
}
