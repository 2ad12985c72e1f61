// What the code that changes tables may use.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import type { SystemTableDefinition } from "../catalog/build-catalog.js";
import type { CatalogStore } from "../mongo/catalog-store.js";
import type { ChangeLock } from "../mongo/change-lock.js";
import type { ChangeStore } from "../mongo/change-store.js";
import type { InstanceStore } from "../mongo/instance-store.js";
import type { JournalStore } from "../mongo/journal-store.js";
import type { RuleStore } from "../mongo/rule-store.js";
import type { TableData } from "../mongo/table-data.js";
import type { UnfinishedStore } from "../mongo/unfinished-store.js";
import type { AskingCaller } from "../records/acting-for.js";
import type { Sealer } from "../records/write/seal.js";
import type { UnderWay } from "../under-way.js";
import type { CurrentCatalog } from "./current-catalog.js";
import type { BackfillDerived } from "./newly-derived.js";
import type { Presence } from "./presence.js";

export interface ChangeDeps extends AskingCaller {
  readonly catalogs: CurrentCatalog;
  readonly catalogStore: CatalogStore;
  readonly changeLock: ChangeLock;
  readonly changes: ChangeStore;
  /** The changes that this instance is making or ending; if we hold a lock for another one, a failure left it behind. */
  readonly changesUnderWay: UnderWay;
  readonly rules: Pick<RuleStore, "follow" | "enabled">;
  readonly instances: InstanceStore;
  readonly presence: Presence;
  readonly data: TableData;
  readonly journalStore: Pick<JournalStore, "forgetValues" | "moveValues" | "forgetTable">;
  readonly unfinishedNotes: Pick<UnfinishedStore, "openIn" | "forgetValues">;
  /** Provides what `searchable` and `counted` need for existing records. */
  readonly backfillDerived: BackfillDerived;
  readonly sealer: Sealer;
  readonly systemTables: readonly SystemTableDefinition[];
  readonly systemTablePrefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
}
