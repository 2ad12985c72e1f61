// For tests of changes of tables: as much of an instance on a database as these need. It sends no heartbeat.
import { systemClock } from "@portico/shared/clock";
import { makeLogger } from "@portico/shared/logger";
import { makeCatalogStore } from "../mongo/catalog-store.js";
import { makeChangeLock } from "../mongo/change-lock.js";
import { makeChangeStore } from "../mongo/change-store.js";
import type { TestDatabase } from "../mongo/database-fixture.js";
import { makeInstanceStore } from "../mongo/instance-store.js";
import { JournalStore } from "../mongo/journal-store.js";
import { provisionNew, provisionNumber, provisionTable } from "../mongo/provision.js";
import { makeTableData } from "../mongo/table-data.js";
import { UnfinishedStore } from "../mongo/unfinished-store.js";
import { makeSealer } from "../records/write/seal.js";
import { UnderWay } from "../under-way.js";
import type { ChangeDeps } from "./change-deps.js";
import type { SchemaDeps } from "./create-table.js";
import { CurrentCatalog } from "./current-catalog.js";
import { Presence } from "./presence.js";
import { WriteGate } from "./write-gate.js";

/** One of several on the same database. @param requireSpace as in `makeTableData` */
export function makeInstance(
  { db }: Pick<TestDatabase, "db">,
  requireSpace?: () => Promise<void>,
): ChangeDeps & SchemaDeps {
  const [catalogStore, instances] = [makeCatalogStore(db, "svc_"), makeInstanceStore(db)];
  const catalogs = new CurrentCatalog(catalogStore, [], systemClock);
  const logger = makeLogger("test", "silent");
  return {
    catalogs,
    catalogStore,
    changeLock: makeChangeLock(db, "svc_"),
    instances,
    logger,
    clock: systemClock,
    presence: new Presence(instances, catalogs, new WriteGate(catalogs), logger),
    changes: makeChangeStore(db),
    changesUnderWay: new UnderWay(),
    requireCaller: async () => undefined,
    rules: { follow: async () => {}, enabled: async () => [] },
    data: makeTableData(db, requireSpace),
    journalStore: new JournalStore(db, false, false, systemClock.now),
    unfinishedNotes: new UnfinishedStore(db, false),
    backfillDerived: async () => {},
    sealer: makeSealer(Buffer.alloc(32)),
    provision: (table) => provisionTable(db, table),
    provisionNumber: (parents, index) => provisionNumber(db, parents, index),
    provisionNew: (table, isOurs) => provisionNew(db, table, isOurs),
    systemTables: [],
    systemTablePrefix: "svc_",
  };
}
