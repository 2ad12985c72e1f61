// Wires the data service: the one file that knows every adapter.
import { makeAssertions } from "@portico/shared/assertion";
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
import { ownCounters, type Table } from "./catalog/catalog.js";
import { gramIndexesOf } from "./catalog/indexes.js";
import { systemTables } from "./catalog/system-tables.js";
import { type FollowDeps, Streams } from "./changes/follow.js";
import type { HistoryDeps } from "./changes/history.js";
import { makePositions } from "./changes/position.js";
import type { Config } from "./config.js";
import { seedDemo } from "./demo/seed.js";
import { Contents } from "./files/contents.js";
import type { FileDeps } from "./files/deps.js";
import { makeFileHooks } from "./files/file-hooks.js";
import { makeS3Content } from "./files/s3-content.js";
import { authenticate } from "./http/authenticate.js";
import { type FreeSpaceDeps, freeBytes } from "./http/free-space.js";
import type { InternalRoutesDeps } from "./identity/internal-routes.js";
import type { OAuthAccountRoutesDeps } from "./identity/routes.js";
import type { Actor } from "./journal/entry.js";
import { Feed } from "./journal/feed.js";
import { Journal } from "./journal/journal.js";
import { JournaledStore } from "./journal/journaled-store.js";
import { repairJournal } from "./journal/repair.js";
import { loadSecrets, type Secrets } from "./local-secrets.js";
import { type CacheNotes, type Metrics, makeMetrics } from "./metrics.js";
import { makeApiTokenStore } from "./mongo/api-token-store.js";
import { makeAuditStore } from "./mongo/audit-store.js";
import { makeCatalogStore } from "./mongo/catalog-store.js";
import { makeChangeStore } from "./mongo/change-store.js";
import { connectStore, type Store } from "./mongo/connect.js";
import { ensureContentIndexes, makeContentLedger } from "./mongo/content-ledger.js";
import { CountStore } from "./mongo/count-store.js";
import { ensureGridFsIndexes, makeGridFsContent } from "./mongo/gridfs-content.js";
import { ensureIdentityIndexes, makeIdentityStore } from "./mongo/identity-store.js";
import { LEASE_MS, makeInstanceStore } from "./mongo/instance-store.js";
import { JournalStore } from "./mongo/journal-store.js";
import { makeKeyStore } from "./mongo/key-store.js";
import { makeLock } from "./mongo/lock.js";
import { ensureOnceIndexes, makeOnceStore } from "./mongo/once-store.js";
import type { OpenAddress } from "./mongo/open-address.js";
import { ensureIndexes, provisionTable } from "./mongo/provision.js";
import { RecordStore } from "./mongo/record-store.js";
import { makeRuleStore } from "./mongo/rule-store.js";
import { authSweeps, countLiveSessions, ensureAuthIndexes, makeSessionStore } from "./mongo/session-store.js";
import { parseStoreAddress } from "./mongo/store-address.js";
import { sweepRegularly } from "./mongo/sweep.js";
import { makeTableData } from "./mongo/table-data.js";
import { makeThrottleStore } from "./mongo/throttle-store.js";
import { UnfinishedStore } from "./mongo/unfinished-store.js";
import { makeUserStore, userCollection } from "./mongo/user-store.js";
import { measurePool, traceCommands } from "./mongo/watch-client.js";
import { loadRights } from "./permission/load-rights.js";
import type { ProtectedTables } from "./permission/rights.js";
import { NOBODY, type WritesOf } from "./records/acting-for.js";
import { CountedWrites } from "./records/counted-writes.js";
import type { RecordDeps } from "./records/deps.js";
import type { ExplainPermissionDeps } from "./records/explain-permission.js";
import type { FillDeps } from "./records/fill-search.js";
import { recordReader } from "./records/record-reader.js";
import { repairUnfinished } from "./records/repair-unfinished.js";
import { makeRuleHooks } from "./records/rule-hooks.js";
import { makeSealer } from "./records/seal.js";
import { SeenQueries } from "./records/seen-queries.js";
import { takeBack } from "./records/take-back.js";
import { Unfinished } from "./records/unfinished.js";
import { makeUserHooks } from "./records/user-hooks.js";
import { applyAtStart } from "./schema/apply-at-start.js";
import { makeBackfill } from "./schema/backfill.js";
import type { ChangeDeps } from "./schema/change-deps.js";
import { makeSweeper } from "./schema/change-table.js";
import { finishInterrupted, type SchemaDeps } from "./schema/create-table.js";
import { CurrentCatalog } from "./schema/current-catalog.js";
import { makeRecovery } from "./schema/end-change.js";
import { Presence } from "./schema/presence.js";
import { WriteGate } from "./schema/write-gate.js";

export interface Deps {
  readonly config: Config;
  readonly logger: Logger;
  readonly store: Store;
  readonly auth: AuthDeps;
  readonly authenticate: RequestHandler;
  readonly identity: InternalRoutesDeps & OAuthAccountRoutesDeps;
  readonly records: RecordDeps &
    SchemaDeps &
    ChangeDeps &
    JournalParts &
    Pick<FillDeps, "indexGrams"> & { readonly changeWaitMs: number };
  readonly files: FileDeps;
  readonly permissions: RecordDeps & ExplainPermissionDeps;
  readonly counts: CountStore;
  readonly metrics: Metrics;
  /** Undefined where the database is another process's, which looks after its disk itself. */
  readonly freeSpace: FreeSpaceDeps | undefined;
}

/** The journal of changes, and those who follow it. */
interface JournalParts extends FollowDeps, HistoryDeps {
  readonly journal: Journal;
  readonly journalStore: JournalStore;
}

/**
 * Opens everything the service needs.
 * @param opening the database of the settings, where it is being opened already
 */
export async function makeDeps(config: Config, opening?: Promise<OpenAddress>): Promise<Deps> {
  const logger = makeLogger("data-service", config.logLevel);
  const secrets = await loadSecrets(config).catch(async (error: unknown) => {
    await opening?.then((address) => address.close()).catch(() => {});
    throw error;
  });
  const metrics = makeMetrics();
  const isTraced = config.otlpEndpoint !== undefined;
  const store = await connectStore(opening ?? config.mongodbUrl, { monitorCommands: isTraced }, (client) => {
    measurePool(client, metrics.registry);
    if (isTraced) traceCommands(client);
  });
  metrics.liveSessions(() => countLiveSessions(store.db, systemClock.now()));
  const auth = await makeAuth(config, secrets, store, metrics, logger);
  const counts = new CountStore(store.db, store.cluster, () => systemClock.now());
  const fileParts = makeFileParts(config, store, logger);
  const records = makeRecords(config, secrets, store, auth, counts, metrics, logger, fileParts);
  const users: AuthParts["users"] = auth.users;
  return {
    config,
    logger,
    store,
    auth,
    authenticate: auth.authenticate,
    records,
    files: { ...records, ...fileParts, uploadMaxBytes: config.uploadMaxBytes },
    identity: makeIdentity(config, secrets, store, auth),
    permissions: {
      ...records,
      principalOf: async (userId) => {
        const found = /^[0-9a-f]{24}$/.test(userId) ? await users.findActive(userId) : undefined;
        if (found === undefined) return undefined;
        const { roleId, isRootAdmin } = found;
        return { kind: "user", userId, sessionId: "", roleId, isRootAdmin };
      },
    },
    counts,
    metrics,
    freeSpace: freeSpaceOf(config),
  };
}

function freeSpaceOf({ mongodbUrl, diskReserveBytes }: Config): FreeSpaceDeps | undefined {
  const address = parseStoreAddress(mongodbUrl);
  if (address.kind !== "embedded" || diskReserveBytes === 0) return undefined;
  const { directory } = address;
  return { free: () => freeBytes(directory), reserveBytes: diskReserveBytes, clock: systemClock };
}

async function makeAuth(
  config: Config,
  secrets: Secrets,
  { db }: Store,
  metrics: Metrics,
  logger: Logger,
): Promise<AuthDeps> {
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
  const [ofSessions, ofTokens] = [metrics.cache("sessions"), metrics.cache("api_tokens")];
  const sessionCache = counted(
    makeSessionCache({ sessions: { find: noted(ofSessions.load, sessions.find) }, users, clock }),
    ofSessions,
  );
  const tokenStore = { ...apiTokens, findByHash: noted(ofTokens.load, apiTokens.findByHash) };
  const apiTokenCache = counted(makeApiTokenCache({ apiTokens: tokenStore, users, clock }), ofTokens);
  const hasher = makePasswordHasher();
  const digest = makeAccountDigest(secrets.encryptionKey);
  const throttle = metrics.throttled(makeThrottle({ store: makeThrottleStore(db), digest, clock }));
  const entries = makeAuditStore(db, config.systemTablePrefix);
  const audit = metrics.audited(makeAudit({ entries, clock, logger }));
  return {
    ...{ users, sessions, apiTokens, clock, tokens, sessionCache, apiTokenCache, hasher, keys, logger },
    ...{ digest, throttle, audit, sweeps: [...authSweeps(db), entries.sweep, makeOnceStore(db).sweep] },
    authenticate: authenticate({ accessTokens: tokens.access, sessionCache, apiTokenCache, clock }),
  };
}

/** The same cache, its lookups counted. */
function counted<Cache extends { find(...asked: never[]): unknown }>(
  cache: Cache,
  { lookup }: CacheNotes,
): Cache {
  return { ...cache, find: noted(lookup, cache.find) };
}

/** The same function, noted before each call. */
function noted<Args extends unknown[], Result>(
  note: () => void,
  work: (...args: Args) => Result,
): (...args: Args) => Result {
  return (...args) => {
    note();
    return work(...args);
  };
}

type AuthDeps = AuthRoutesDeps & ApiTokensDeps & KeyRoutesDeps & AuthParts;
function makeIdentity(
  config: Config,
  secrets: Secrets,
  { db }: Store,
  { users, sessions, sessionCache, tokens, throttle, clock, audit, logger }: AuthDeps,
): Deps["identity"] {
  return {
    ...makeIdentityStore(db, config.systemTablePrefix),
    ...{ users, sessions, sessionCache, tokens, throttle, clock, audit, logger },
    assertions: makeAssertions(secrets.serviceSecret),
    oauthSignup: config.oauthSignup,
    oauthStartsPerMinute: config.oauthStartsPerMinute,
  };
}

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

type FileParts = Pick<FileDeps, "contents" | "ledger" | "fileTables">;

function makeFileParts(
  { s3, systemTablePrefix, uploadLeaseSeconds }: Config,
  store: Store,
  logger: Logger,
): FileParts {
  const fileTables = { files: `${systemTablePrefix}file`, folders: `${systemTablePrefix}folder` };
  const ledger = makeContentLedger(store.db, fileTables.files);
  const content = s3 === undefined ? makeGridFsContent(store.db, store.cluster) : makeS3Content(s3);
  const leaseMs = uploadLeaseSeconds * 1_000;
  const contents = new Contents({ ledger, store: content, clock: systemClock, logger, leaseMs });
  return { contents, ledger, fileTables };
}

function makeRecords(
  config: Config,
  secrets: Secrets,
  { db, cluster }: Store,
  auth: AuthParts,
  counts: CountStore,
  metrics: Metrics,
  logger: Logger,
  files: FileParts,
): Deps["records"] {
  const clock = systemClock;
  const records = new RecordStore(db, config.queryTimeoutMs);
  const tables = systemTables(config.systemTablePrefix);
  const catalogStore = makeCatalogStore(db, config.systemTablePrefix);
  const [ofCatalog, ofRules] = [metrics.cache("catalog"), metrics.cache("rules")];
  const catalogs = new CurrentCatalog(catalogStore, tables, clock, (kind) => ofCatalog[kind]());
  const rules = makeRuleStore(db, config.systemTablePrefix, clock, ofRules.load);
  const protectedTables = protectedTablesOf(config.systemTablePrefix);
  const readRecord = recordReader({ catalogs, store: records });
  const gate = new WriteGate(catalogs);
  const instances = makeInstanceStore(db);
  const provision = (table: Table): Promise<void> => provisionTable(db, table);
  const presence = new Presence(instances, catalogs, gate, logger);
  const journalStore = new JournalStore(db, cluster, isEmbedded(config), () => clock.now());
  const feed = new Feed(journalStore, logger);
  const journal = new Journal({
    ...{ journal: journalStore, store: records, logger, published: () => feed.look() },
  });
  const unflushed = { writeConcern: { w: 1, journal: false } } as const;
  const light = cluster ? records : new RecordStore(db, config.queryTimeoutMs, unflushed);
  const journaled = { light, journal, instance: presence.id, now: () => clock.now(), turns: new Map() };
  const writesOn = (store: RecordStore, actor: Actor): CountedWrites =>
    new CountedWrites(new JournaledStore({ ...journaled, store, actor }), counts);
  const writesOf: WritesOf = (actor) => ({
    writes: writesOn(records, actor),
    writesUnderNote: writesOn(light, actor),
  });
  const notes = new UnfinishedStore(db, cluster);
  const once = makeOnceStore(db);
  const deps: Deps["records"] = {
    unfinished: new Unfinished({
      ...{ notes, once, instance: presence.id, clock, logger },
      takeBack: (steps) => takeBack(deps, steps),
    }),
    deletes: { notes, instance: presence.id },
    ...{ writesOf, ...writesOf(NOBODY) },
    ...{ catalogStore, clock, systemTables: tables, systemTablePrefix: config.systemTablePrefix },
    ...{ catalogs, gate, instances, logger, provision, rules },
    indexGrams: (table) => ensureIndexes(db.collection(table.collection), gramIndexesOf(table)),
    ...{ presence, journal, journalStore, feed, streams: new Streams() },
    positions: makePositions(secrets.encryptionKey),
    changesHeartbeatMs: config.changesHeartbeatMs,
    changesStallMs: config.changesStallMs,
    changes: makeChangeStore(db),
    data: makeTableData(db),
    backfillDerived: makeBackfill({ catalogs, catalogStore, counts, provision }),
    changeWaitMs: config.schemaChangeWaitMs,
    rights: loadRights({
      ...{ clock, tables: protectedTables, maxDepth: config.queryMaxDepth },
      rules: { of: noted(ofRules.lookup, rules.of) },
      userRecord: async (id) =>
        (await readRecord(protectedTables.users, ObjectId.createFromHexString(id))) ?? null,
    }),
    ruleHooks: makeRuleHooks({
      ...{ tables: protectedTables, maxDepth: config.queryMaxDepth, forget: rules.forget },
      read: (id) => readRecord(protectedTables.permissions, id),
    }),
    store: records,
    notePlan: metrics.notePlan,
    seenQueries: new SeenQueries({ store: records, clock }),
    once: { store: once, clock },
    limits: { maxDepth: config.queryMaxDepth, maxLimit: config.queryMaxLimit },
    thresholds: {
      maxKeys: config.queryPlanMaxKeys,
      fewParents: config.queryPlanFewParents,
      windowChildren: config.queryPlanWindowChildren,
    },
    sealer: makeSealer(secrets.encryptionKey),
    fileHooks: makeFileHooks({
      ...{ ...files.fileTables, contents: files.contents, ledger: files.ledger },
      ...{
        store: records,
        treeLock: makeLock(db, clock, "folders", "Other folders are being moved; try again shortly."),
      },
    }),
    userHooks: makeUserHooks({
      table: `${config.systemTablePrefix}user`,
      hash: auth.hasher.hash,
      adminLock: makeLock(
        db,
        clock,
        "root admins",
        "Other root admins are being changed; try again shortly.",
      ),
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
  return deps;
}

function protectedTablesOf(prefix: string): ProtectedTables {
  return {
    ...{ users: `${prefix}user`, roles: `${prefix}role` },
    ...{ permissions: `${prefix}permission`, tables: `${prefix}table` },
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
  await Promise.all([
    ensureAuthIndexes(store.db, config.systemTablePrefix),
    ensureOnceIndexes(store.db),
    ensureIdentityIndexes(store.db),
    ensureGridFsIndexes(store.db),
    ensureContentIndexes(store.db, deps.files.fileTables.files),
  ]);
  await prepareTables(deps);
  const admin = await ensureFirstAdmin(auth, { email: config.adminEmail, password: config.adminPassword });
  if (config.schemaFile !== undefined) await applyAtStart(records, config.schemaFile);
  if (config.demo && isEmbedded(config)) await seedDemo({ ...records, db: store.db, counts: deps.counts });
  await deps.files.contents.start(isEmbedded(config));
  return { admin, stopSweeping: sweepRegularly([...auth.sweeps, pruneJournal(records)], deps.auth) };
}

/**
 * Counts again what a crash has left uncertain.
 * @param alone see CountStore.repair; the embedded engine serves one process
 */
export async function repairCounts({ counts, records, logger }: Deps, alone: boolean): Promise<void> {
  const { tables } = await records.catalogs.refresh();
  const repaired = await counts.repair([...tables.values()].flatMap(ownCounters), alone);
  if (repaired > 0) logger.info({ repaired }, "counted again what interrupted writes had left");
}

/** How long live changes can be resumed: a day, and not beyond a million changes. */
const JOURNAL_KEPT_MS = 24 * 60 * 60 * 1000;
const JOURNAL_MOST = 1_000_000;

function pruneJournal({ journalStore }: Deps["records"]): (now: Date) => Promise<void> {
  return (now) => journalStore.prune(new Date(now.getTime() - JOURNAL_KEPT_MS), JOURNAL_MOST);
}

/** System tables, and whatever an earlier process left unfinished. From here on this instance counts as one. */
export async function prepareTables(deps: Deps): Promise<void> {
  const { config, records } = deps;
  const { tables } = buildCatalog(0, [], records.systemTables);
  await Promise.all([
    ...[...tables.values()].map((table) => records.provision(table)),
    deps.counts.ensureIndexes(),
    deps.records.journalStore.ensureIndexes(),
    deps.records.deletes.notes.ensureIndexes(),
  ]);
  await repairCounts(deps, isEmbedded(config));
  await repairJournal(records, isEmbedded(config));
  await joinInstances(records, isEmbedded(config));
  await finishInterrupted(records);
  await shardTables(records);
  // Where others may be at work, it is done in passing: see main.
  if (!isEmbedded(config)) return;
  await records.once.store.lapse();
  await repairUnfinished(records, true);
}

/** Tables that were made before the database became a sharded cluster; the others are spread already. */
async function shardTables({ catalogs, data, logger }: Deps["records"]): Promise<void> {
  const { tables } = await catalogs.get();
  for (const table of tables.values())
    if (table.isSharded)
      await data.shard(table).catch((error: unknown) => {
        // It is served as it is; the next start tries again.
        logger.warn({ err: error, table: table.name }, "the records of a table could not be spread");
      });
}

/** The database runs inside this process, or beside it, and nobody else has it open. */
export function isEmbedded({ mongodbUrl }: Config): boolean {
  return mongodbUrl.startsWith("mongodb_embedded:");
}

/** Interrupted changes are ended at the start; one that a living instance makes goes on. */
const RECOVERY_MS = LEASE_MS + 1_000;

async function joinInstances(records: Deps["records"], alone: boolean): Promise<void> {
  // No other process can have an embedded engine open.
  if (alone) await records.instances.clear();
  const [recover, sweep] = [makeRecovery(records), makeSweeper(records)];
  await records.presence.start(async () => {
    await recover();
    await sweep();
  });
  const began = performance.now();
  while (!(await recover()) && performance.now() - began < RECOVERY_MS)
    await new Promise((resolve) => setTimeout(resolve, 100));
}
