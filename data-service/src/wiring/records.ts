// Builds everything that reads and writes tables, records and permissions, from settings and the database.
import { systemClock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { ObjectId } from "mongodb";
import type { RootOrigin } from "../auth/session.js";
import { CallerShares } from "../caller-shares.js";
import { gramIndexesOf } from "../catalog/indexes.js";
import type { Stored } from "../catalog/stored.js";
import { systemTableNames, systemTables } from "../catalog/system-tables.js";
import type { FollowDeps } from "../changes/follow.js";
import type { HistoryDeps } from "../changes/history.js";
import { Judging } from "../changes/judging.js";
import { makePositions } from "../changes/position.js";
import { Streams } from "../changes/streams.js";
import { type Config, isEmbedded } from "../config.js";
import { makeFileHooks, makeFolderHooks } from "../files/file-hooks.js";
import type { Actor } from "../journal/entry.js";
import { Feed } from "../journal/feed.js";
import { Journal } from "../journal/journal.js";
import { JournaledStore } from "../journal/journaled-store.js";
import { makeKeyedDigest } from "../keyed-digest.js";
import type { Secrets } from "../local-secrets.js";
import type { Metrics } from "../metrics.js";
import { makeAdminLock, makeAdminStore } from "../mongo/admin-store.js";
import { makeCatalogStore } from "../mongo/catalog-store.js";
import { makeChangeLock } from "../mongo/change-lock.js";
import { makeChangeStore } from "../mongo/change-store.js";
import type { Store } from "../mongo/connect.js";
import { CountStore } from "../mongo/count-store.js";
import { makeBulkSpace, makeDiskSpace } from "../mongo/disk-space.js";
import { ENGINE_AT_ONCE } from "../mongo/embedded/engine-parameters.js";
import { makeGoingRules } from "../mongo/going-rules.js";
import { type IdentityStore, makeIdentityStore } from "../mongo/identity-store.js";
import { makeInstanceStore } from "../mongo/instance-store.js";
import { JournalStore } from "../mongo/journal-store.js";
import { makeLock } from "../mongo/lock.js";
import { makeOnceStore } from "../mongo/once-store.js";
import { ensureIndexes, provisionNew, provisionNumber, provisionTable } from "../mongo/provision.js";
import { RecordStore } from "../mongo/record-store.js";
import { makeRuleStore, type RuleStore } from "../mongo/rule-store.js";
import { makeTableData } from "../mongo/table-data.js";
import { UnfinishedStore } from "../mongo/unfinished-store.js";
import { unflushed } from "../mongo/unflushed.js";
import { loadRights } from "../permission/load-rights.js";
import type { WritesOf } from "../records/acting-for.js";
import { CountedWrites } from "../records/derived/counted-writes.js";
import type { FillDeps } from "../records/derived/fill-search.js";
import { SeenQueries } from "../records/read/seen-queries.js";
import type { RecordDeps } from "../records/record-deps.js";
import { recordReader } from "../records/record-reader.js";
import { makeRoleHooks, makeRuleHooks } from "../records/rule-hooks.js";
import { type HooksOf, hooksByTable, type TableHooks } from "../records/table-hooks.js";
import { makeUserHooks } from "../records/user-hooks.js";
import { areDone } from "../records/whole/are-done.js";
import { areKept } from "../records/whole/are-kept.js";
import { takeBack } from "../records/whole/take-back.js";
import { Unfinished } from "../records/whole/unfinished.js";
import { makeSealer } from "../records/write/seal.js";
import type { AccessDeps } from "../schema/apply-access.js";
import { makeBackfill } from "../schema/backfill.js";
import type { ChangeDeps } from "../schema/change-deps.js";
import type { SchemaDeps } from "../schema/create-table.js";
import { CurrentCatalog } from "../schema/current-catalog.js";
import { Presence } from "../schema/presence.js";
import { ruleChangeOf } from "../schema/rule-change.js";
import { WriteGate } from "../schema/write-gate.js";
import type { AnnouncedSpace, RequireSpace } from "../space-check.js";
import { UnderWay } from "../under-way.js";
import { type AuthParts, noted, rootOriginOf } from "./auth.js";
import type { FileParts } from "./files.js";

/** What the routes of records, tables and changes work with. */
export type RecordParts = RecordDeps &
  SchemaDeps &
  ChangeDeps &
  AccessDeps &
  JournalParts &
  Pick<FillDeps, "indexGrams" | "diskSpace"> & { readonly changeWaitMs: number; readonly counts: CountStore };

/** The journal of changes, and those who follow it. */
interface JournalParts extends FollowDeps, HistoryDeps {
  readonly journal: Journal;
  readonly journalStore: JournalStore;
}

/** What the record parts are built from. */
export interface RecordSources {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly store: Store;
  readonly auth: AuthParts;
  readonly files: FileParts;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Undefined where the database watches its disk itself. */
  readonly requireSpace: RequireSpace | undefined;
  readonly announced: AnnouncedSpace | undefined;
}

const clock = systemClock;

export function makeRecords(from: RecordSources): RecordParts {
  const { config, secrets, metrics, logger } = from;
  const { db } = from.store;
  const store = new RecordStore(from.store, config.queryTimeoutMs, { worksOn: isEmbedded(config) });
  const tables = tableParts(from);
  const { catalogs, catalogStore, presence } = tables;
  const journal = journalParts(from, store);
  const notes = new UnfinishedStore(db, isEmbedded(config));
  const once = makeOnceStore(db);
  const instance = presence.id;
  const counts = new CountStore(db, isEmbedded(config), instance, () => clock.now());
  const readRecord = recordReader({ catalogs, store });
  const permissions = rightParts(from, tables, readRecord);
  const parts: RecordParts = {
    logger,
    store,
    shares: sharesOf(from),
    counts,
    ...tables,
    ...journal,
    ...writeParts(from, { store, journal: journal.journal, counts, instance }),
    ...permissions,
    requireCaller: async () => undefined,
    hooksOf: tableHooks(from, { store, catalogs, readRecord, permissions }),
    unfinished: new Unfinished({
      notes,
      once,
      instance,
      clock,
      logger,
      takeBack: (steps, of) => takeBack({ ...parts, logger: of }, steps),
      areDone: (steps) => areDone(parts, steps),
      areKept: async (steps) => areKept(parts, await catalogs.refresh(), steps),
      alone: isEmbedded(config),
    }),
    unfinishedNotes: notes,
    deletes: { notes, instance, underWay: new UnderWay() },
    once: { store: once, clock, digest: makeKeyedDigest(secrets.encryptionKey, "portico idempotency key") },
    accessLock: makeLock(db, clock, "access", "Another data service is applying its schema file; try again."),
    goingRules: makeGoingRules(db),
    indexGrams: (table) => ensureIndexes(db, table, gramIndexesOf(table)),
    requireSpace: from.requireSpace,
    bulkSpace: from.announced && makeBulkSpace(db, from.announced),
    diskSpace: from.requireSpace && makeDiskSpace(db, from.requireSpace),
    backfillDerived: makeBackfill({ catalogs, catalogStore, counts }),
    positions: makePositions(secrets.encryptionKey),
    sealer: makeSealer(secrets.encryptionKey),
    notePlan: metrics.notePlan,
    seenQueries: new SeenQueries({ store, clock }),
    ...settings(config),
  };
  return parts;
}

type Settings = Pick<
  RecordParts,
  "changesHeartbeatMs" | "changesStallMs" | "changeWaitMs" | "limits" | "thresholds"
>;

function settings(config: Config): Settings {
  return {
    changesHeartbeatMs: config.changesHeartbeatMs,
    changesStallMs: config.changesStallMs,
    changeWaitMs: config.schemaChangeWaitMs,
    limits: { maxDepth: config.queryMaxDepth, maxLimit: config.queryMaxLimit },
    thresholds: {
      maxKeys: config.queryPlanMaxKeys,
      fewParents: config.queryPlanFewParents,
      windowChildren: config.queryPlanWindowChildren,
    },
  };
}

type TableParts = Omit<SchemaDeps, "requireCaller"> &
  Pick<ChangeDeps, "changes" | "changesUnderWay" | "changeLock" | "data" | "instances" | "presence"> &
  Pick<RecordDeps, "gate">;

/** Tables as they are defined, and who else works with them. */
function tableParts({ config, store, metrics, logger, requireSpace }: RecordSources): TableParts {
  const { db, cluster } = store;
  const { systemTablePrefix } = config;
  const known = systemTables(systemTablePrefix);
  const catalogStore = makeCatalogStore(db, systemTablePrefix, cluster);
  const note = metrics.cache("catalog");
  const catalogs = new CurrentCatalog(catalogStore, known, clock, (kind) => note[kind]());
  const gate = new WriteGate(catalogs);
  const instances = makeInstanceStore(db);
  return {
    clock,
    systemTables: known,
    systemTablePrefix,
    catalogStore,
    changeLock: makeChangeLock(db, systemTablePrefix, cluster),
    catalogs,
    gate,
    instances,
    presence: new Presence(instances, catalogs, gate, logger),
    provision: (table) => provisionTable(db, table),
    provisionNumber: (parents, index) => provisionNumber(db, parents, index),
    provisionNew: (table, isOurs) => provisionNew(db, table, isOurs),
    changes: makeChangeStore(db),
    changesUnderWay: new UnderWay(),
    data: makeTableData(db, requireSpace),
  };
}

/** What no query has that may take long: room for reads by id, writes, the question whether it answers, and what ends cursors. */
const ENGINE_RESERVE = 2;

/** As many questions at once as the driver has connections, where 0 is no limit. */
function sharesOf({ config, store, metrics }: RecordSources): CallerShares {
  const { maxPoolSize } = store.client.options;
  const most = maxPoolSize === 0 ? Number.POSITIVE_INFINITY : maxPoolSize;
  const mostSlow = isEmbedded(config) ? Math.min(most, ENGINE_AT_ONCE - ENGINE_RESERVE) : most;
  return new CallerShares({ most, mostSlow }, metrics.shares);
}

type JournalCore = Pick<JournalParts, "journal" | "journalStore" | "feed" | "streams" | "judging">;

function journalParts(
  { config, store: { db, cluster }, logger }: RecordSources,
  store: RecordStore,
): JournalCore {
  const journalStore = new JournalStore(db, cluster, isEmbedded(config), () => clock.now());
  const feed = new Feed(journalStore, logger);
  const journal = new Journal({ journal: journalStore, store, logger, published: () => feed.look() });
  return { journal, journalStore, feed, streams: new Streams(), judging: new Judging() };
}

type WriteParts = Pick<RecordDeps, "writesOf">;

interface WriteSources {
  readonly store: RecordStore;
  readonly journal: Journal;
  readonly counts: CountStore;
  readonly instance: string;
}

/** Writes that are journaled and counted, in the name of whoever makes them. */
function writeParts(
  { config, store: database }: RecordSources,
  { store, journal, counts, instance }: WriteSources,
): WriteParts {
  const light = isEmbedded(config)
    ? new RecordStore(database, config.queryTimeoutMs, { collections: unflushed(true), worksOn: true })
    : store;
  const journaled = { light, journal, instance, now: () => clock.now(), turns: new Map() };
  const writesOn = (store: RecordStore, actor: Actor): CountedWrites =>
    new CountedWrites(new JournaledStore({ ...journaled, store, actor }), counts);
  const writesOf: WritesOf = (actor) => ({
    writes: writesOn(store, actor),
    writesUnderNote: writesOn(light, actor),
  });
  return { writesOf };
}

type RightParts = Pick<RecordDeps, "rights"> & { readonly rules: RuleStore };

/** What callers may do, by the rules in the database. */
function rightParts(
  { config, store: { db }, metrics }: RecordSources,
  { catalogs, catalogStore, changes, systemTables }: TableParts,
  readRecord: ReturnType<typeof recordReader>,
): RightParts {
  const { systemTablePrefix } = config;
  const ofRules = metrics.cache("rules");
  const tables = systemTableNames(systemTablePrefix);
  const context = { users: tables.users };
  const rules = makeRuleStore(db, systemTablePrefix, {
    clock,
    catalogs,
    changeOf: (id) => ruleChangeOf({ catalogStore, changes, systemTables, context }, id),
    noteLoad: ofRules.load,
  });
  return {
    rules,
    rights: loadRights({
      clock,
      tables,
      rules: { of: noted(ofRules.lookup, rules.of) },
      userRecord: async (id) => (await readRecord(tables.users, ObjectId.createFromHexString(id))) ?? null,
    }),
  };
}

interface HookSources {
  readonly store: RecordStore;
  readonly catalogs: CurrentCatalog;
  readonly readRecord: ReturnType<typeof recordReader>;
  readonly permissions: RightParts;
}

/** The tables whose writes mean more than their columns say. */
function tableHooks(
  from: RecordSources,
  { store, catalogs, readRecord, permissions: { rules, rights } }: HookSources,
): HooksOf {
  const {
    store: { db },
    files: { contents, ledger },
    logger,
  } = from;
  const tables = systemTableNames(from.config.systemTablePrefix);
  const { forget } = rules;
  const read = (id: Stored) => readRecord(tables.permissions, id);
  const treeLock = makeLock(db, clock, "folders", "Other folders are being moved; try again shortly.");
  return hooksByTable(
    new Map([
      [tables.users, userHooks(from)],
      [tables.roles, makeRoleHooks({ catalogs, rolesTable: tables.roles, rules })],
      [tables.permissions, makeRuleHooks({ catalogs, store, logger, rights, tables, forget, read })],
      [tables.files, makeFileHooks({ contents, ledger })],
      [tables.folders, makeFolderHooks({ store, treeLock })],
    ]),
  );
}

function userHooks({ config, store: { db }, auth }: RecordSources): TableHooks {
  const { accounts } = makeIdentityStore(db, config.systemTablePrefix);
  const rootOrigin = rootOriginOf(config);
  return makeUserHooks({
    ...makeAdminStore(db, config.systemTablePrefix, rootOrigin),
    hash: auth.hasher.hash,
    adminLock: makeAdminLock(db, clock),
    forgetUser: auth.forgetUser,
    clearAway: (userId) => clearAway({ ...auth, accounts, rootOrigin }, userId),
    emailOf: auth.users.emailOf,
  });
}

/** By how much the clocks of two instances may differ. */
const CLOCKS_APART_MS = 60_000;

/** Sessions that a change has ended, and everything that belonged to a deleted user. */
async function clearAway(
  {
    users,
    sessions,
    apiTokens,
    accounts,
    rootOrigin,
  }: Pick<AuthParts, "users" | "sessions" | "apiTokens"> &
    Pick<IdentityStore, "accounts"> & { readonly rootOrigin: RootOrigin },
  userId: string,
): Promise<void> {
  // The sessions were dated by the clocks of other machines. One that stays behind is dead all the same, and expires.
  const asOf = new Date(clock.now().getTime() - CLOCKS_APART_MS);
  const user = await users.findById(userId);
  if (user !== undefined) {
    await sessions.removeAllBut(userId, user.epoch, asOf);
    if (rootOrigin !== null && user.isRootAdmin) await sessions.removeElsewhere(userId, rootOrigin);
    return;
  }
  await sessions.removeAllOf(userId);
  await apiTokens.removeAllOf(userId);
  // One that has signed somebody in again meanwhile names the new user.
  await accounts.removeAllOf(userId);
}
