// Counts again what dead processes and lost answers have left uncertain. Every process does this at its start, and for others while it runs.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { ownCounters } from "../../catalog/catalog.js";
import type { CountStore } from "../../mongo/count-store.js";
import type { InstanceStore } from "../../mongo/instance-store.js";
import type { CurrentCatalog } from "../../schema/current-catalog.js";
import { isDead, type Onlooker } from "../../schema/dead-instances.js";

export interface CountRepairDeps {
  readonly counts: Pick<CountStore, "repair">;
  readonly catalogs: Pick<CurrentCatalog, "refresh">;
  readonly instances: Pick<InstanceStore, "lives">;
  readonly presence: { readonly id: string };
  readonly clock: Clock;
  readonly logger: Logger;
}

export async function repairCounts(deps: CountRepairDeps, { alone }: Pick<Onlooker, "alone">): Promise<void> {
  const { counts, catalogs, instances, presence, clock, logger } = deps;
  const onlooker = { clock, instances, own: presence.id, alone };
  const { tables } = await catalogs.refresh();
  const counters = [...tables.values()].flatMap(ownCounters);
  const repaired = await counts.repair(counters, {
    isDead: (mark) => isDead(onlooker, mark),
    alone,
    failed: (err, mark) => logger.error({ err, mark }, "numbers of children are not counted yet"),
  });
  if (repaired > 0) logger.info({ repaired }, "counted again what interrupted writes had left");
}
