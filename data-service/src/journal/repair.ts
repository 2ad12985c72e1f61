// Publishes changes that dead processes made but did not publish. Every process does this at its start, and for others
// while it runs.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { tablesById } from "../catalog/catalog.js";
import { getOrMake } from "../get-or-make.js";
import type { ChangeStore } from "../mongo/change-store.js";
import type { InstanceStore } from "../mongo/instance-store.js";
import type { CurrentCatalog } from "../schema/current-catalog.js";
import { isDead, type Noted, type Onlooker, WRITTEN_WITHIN_MS } from "../schema/dead-instances.js";
import type { WriteGate } from "../schema/write-gate.js";
import type { Journal } from "./journal.js";

export interface JournalRepairDeps {
  readonly journal: Pick<Journal, "repair">;
  readonly catalogs: Pick<CurrentCatalog, "refresh">;
  readonly changes: Pick<ChangeStore, "keepsTable">;
  readonly gate: Pick<WriteGate, "run">;
  readonly instances: Pick<InstanceStore, "lives">;
  readonly presence: { readonly id: string };
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A change of a table waits for it: what it has read may be what the change takes out of the history.
 * @param alone see `Onlooker`
 */
export async function repairJournal(
  deps: JournalRepairDeps,
  { alone }: Pick<Onlooker, "alone">,
): Promise<void> {
  const { journal, catalogs, changes, gate, instances, presence, clock, logger } = deps;
  const onlooker = { clock, instances, own: presence.id, alone };
  const told = await gate.run(async () => {
    const tables = tablesById(await catalogs.refresh());
    const kept = new Map<string, Promise<boolean>>();
    return journal.repair(tables, {
      isDead: (pending) => isDead(onlooker, pending),
      isKept: (table) => getOrMake(kept, table, () => changes.keepsTable(table)),
      mayBeMade: ({ at }: Noted) => !alone && clock.now().getTime() - at.getTime() < WRITTEN_WITHIN_MS,
    });
  });
  if (told > 0) logger.info({ told }, "told of changes that interrupted writes had left");
}
