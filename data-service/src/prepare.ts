// Prepares an opened database to serve: what is done once, before the first request.
import { ensureFirstAdmin } from "./auth/first-admin.js";
import { buildCatalog } from "./catalog/build-catalog.js";
import { isEmbedded } from "./config.js";
import { declineDemo, seedDemo } from "./demo/seed.js";
import type { Deps } from "./deps.js";
import { repairJournal } from "./journal/repair.js";
import { ensureContentIndexes } from "./mongo/content-ledger.js";
import { ensureGridFsIndexes } from "./mongo/gridfs-content.js";
import { ensureIdentityIndexes } from "./mongo/identity-store.js";
import { INSTANCE_LEASE_MS } from "./mongo/instance-store.js";
import { ensureOnceIndexes } from "./mongo/once-store.js";
import { ensureAuthIndexes } from "./mongo/session-store.js";
import { sweepRegularly } from "./mongo/sweep.js";
import { repairCounts } from "./records/derived/repair-counts.js";
import { repairUnfinished } from "./records/whole/repair-unfinished.js";
import { applyAtStart } from "./schema/apply-at-start.js";
import { finishInterrupted } from "./schema/create-table.js";
import { makeRecovery } from "./schema/end-change.js";
import { makeSweeper } from "./schema/sweep-changes.js";
import { until } from "./until.js";

/**
 * What must be ready before the first request: indexes, the first admin, finished tables, demo content.
 * @param announce shows the password that was made for the first admin, at once: if something fails after that, no later
 * start knows it
 * @returns what stops the sweeping
 */
export async function prepare(
  deps: Deps,
  announce: (admin: { readonly email: string; readonly password: string }) => void,
): Promise<() => void> {
  const { config, store, records, auth } = deps;
  await Promise.all([
    ensureAuthIndexes(store.db, config.systemTablePrefix),
    ensureOnceIndexes(store.db),
    ensureIdentityIndexes(store.db),
    ensureGridFsIndexes(store.db),
    ensureContentIndexes(store.db, deps.files.fileTables.files),
  ]);
  await prepareTables(deps);
  const { adminEmail: email, adminPassword: password } = config;
  const admin = await ensureFirstAdmin({ ...auth, logger: deps.logger }, { email, password });
  if (admin !== undefined) announce(admin);
  if (config.schemaFile !== undefined) await applyAtStart(records, config.schemaFile);
  if (isEmbedded(config))
    await (config.demo ? seedDemo({ ...records, db: store.db }) : declineDemo(store.db));
  await deps.files.contents.start(isEmbedded(config));
  return sweepRegularly([...auth.sweeps, records.instances.sweep, pruneJournal(records)], deps.auth);
}

/** How long live changes can be resumed: a day, and not beyond a million changes. */
const JOURNAL_KEPT_MS = 24 * 60 * 60 * 1000;
const JOURNAL_MOST = 1_000_000;

function pruneJournal({ journalStore }: Deps["records"]): (now: Date) => Promise<void> {
  return (now) => journalStore.prune(new Date(now.getTime() - JOURNAL_KEPT_MS), JOURNAL_MOST);
}

/** System tables, and whatever an earlier process left unfinished. From here on this instance counts as running. */
export async function prepareTables(deps: Deps): Promise<void> {
  const { config, records } = deps;
  const { tables } = buildCatalog(0, [], records.systemTables);
  await Promise.all([
    ...[...tables.values()].map((table) => records.provision(table)),
    records.counts.ensureIndexes(),
    deps.records.journalStore.ensureIndexes(),
    deps.records.deletes.notes.ensureIndexes(),
  ]);
  await repairCounts(records, { alone: isEmbedded(config) });
  await joinInstances(records, isEmbedded(config));
  await repairJournal(records, { alone: isEmbedded(config) });
  await finishInterrupted(records);
  await shardTables(records);
  // Where others may be at work, start-data-service.ts does this from time to time instead.
  if (!isEmbedded(config)) return;
  await records.once.store.lapse();
  await repairUnfinished(records, { alone: true });
}

/** Tables that were made before the database became a sharded cluster; the others are spread already. */
async function shardTables({ catalogs, data, logger }: Deps["records"]): Promise<void> {
  const { tables } = await catalogs.get();
  for (const table of tables.values())
    if (table.isSharded)
      await data.shard(table).catch((error: unknown) => {
        // The table is served as it is; the next start tries again.
        logger.warn({ err: error, table: table.name }, "the records of a table could not be spread");
      });
}

/** Interrupted changes are ended at the start; one that another living instance is making continues. */
const RECOVERY_MS = INSTANCE_LEASE_MS + 1_000;

async function joinInstances(records: Deps["records"], alone: boolean): Promise<void> {
  // No other process can have an embedded engine open.
  if (alone) await records.instances.clear();
  const [recover, sweep] = [makeRecovery(records), makeSweeper(records)];
  await records.presence.start([recover, sweep]);
  // If it takes longer, the regular chores end it.
  await until(recover, { patienceMs: RECOVERY_MS, everyMs: 100, tooLate: () => {} });
}
