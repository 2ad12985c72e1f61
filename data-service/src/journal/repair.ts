// Tells what dead processes have written and not told. Whoever lives on does it, and every process at its start.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import type { InstanceStore } from "../mongo/instance-store.js";
import type { CurrentCatalog } from "../schema/current-catalog.js";
import type { Pending } from "./entry.js";
import type { Journal } from "./journal.js";

export interface RepairDeps {
  readonly journal: Pick<Journal, "repair">;
  readonly catalogs: Pick<CurrentCatalog, "refresh">;
  readonly instances: Pick<InstanceStore, "lives">;
  readonly presence: { readonly id: string };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An instance may be slow; only one that is not heard of, and has been silent for so long, is taken for dead. */
const DEAD_AFTER_MS = 10_000;
/** What this very process has announced and, for want of a database, neither told nor withdrawn. */
const FAILED_AFTER_MS = 60_000;

/** @param alone true when no other process uses the database, so that everything announced is a dead one's */
export async function repairJournal(deps: RepairDeps, alone: boolean): Promise<void> {
  const { journal, catalogs, instances, presence, clock, logger } = deps;
  const isDead = async ({ instance, at }: Pending): Promise<boolean> => {
    if (alone) return true;
    const age = clock.now().getTime() - at.getTime();
    if (instance === presence.id) return age > FAILED_AFTER_MS;
    return age > DEAD_AFTER_MS && !(await instances.lives(instance));
  };
  const { tables } = await catalogs.refresh();
  const byId = new Map([...tables.values()].map((table) => [table.id, table]));
  const told = await journal.repair(byId, isDead);
  if (told > 0) logger.info({ told }, "told of changes that interrupted writes had left");
}
