// Publishes changes that dead processes made but did not publish. Every process does this at its start, and for others
// while it runs.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import type { ObjectId } from "bson";
import { tablesById } from "../catalog/catalog.js";
import { getOrMake } from "../get-or-make.js";
import type { ChangeStore } from "../mongo/change-store.js";
import type { InstanceStore } from "../mongo/instance-store.js";
import type { Announced, JournalStore } from "../mongo/journal-store.js";
import type { CurrentCatalog } from "../schema/current-catalog.js";
import { isDead, type Onlooker, WRITTEN_WITHIN_MS } from "../schema/dead-instances.js";
import type { WriteGate } from "../schema/write-gate.js";
import type { Journal } from "./journal.js";

export interface JournalRepairDeps {
  readonly journal: Pick<Journal, "repair">;
  readonly journalStore: Pick<JournalStore, "announcers">;
  readonly catalogs: Pick<CurrentCatalog, "refresh">;
  readonly changes: Pick<ChangeStore, "keepsTable">;
  readonly gate: Pick<WriteGate, "run">;
  readonly instances: Pick<InstanceStore, "lives">;
  readonly presence: { readonly id: string };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** So many changes are looked at together; a change of a table may pass before the next ones. */
const AT_ONCE = 200;
/** Fewer where their announcements are larger, of which each has room: these, and the records as they are now, are held meanwhile. */
const BYTES_AT_ONCE = 16 * 1024 * 1024;
/** If it takes longer, the log says what is being done. */
const MOMENT_MS = 1_000;

/** @param alone see `Onlooker` */
export async function repairJournal(
  deps: JournalRepairDeps,
  { alone }: Pick<Onlooker, "alone">,
): Promise<void> {
  const { gate, logger } = deps;
  const left = await leftByDead(deps, alone);
  const began = performance.now();
  let [told, isLong] = [0, false];
  for (const some of inPieces(left)) {
    told += await gate.run(() => repairSome(deps, alone, some));
    // At a start everybody waits for it.
    if (isLong || performance.now() - began < MOMENT_MS) continue;
    isLong = true;
    logger.info(
      { announced: left.length },
      "looking which changes were made that interrupted writes announced",
    );
  }
  if (told > 0) logger.info({ told }, "told of changes that interrupted writes had left");
}

/** The ids of changes, as many together as are looked at at once. */
function* inPieces(left: readonly Announced[]): Generator<readonly ObjectId[]> {
  let some: ObjectId[] = [];
  let held = 0;
  for (const { id, bytes } of left) {
    if (some.length === AT_ONCE || held + bytes > BYTES_AT_ONCE) {
      yield some;
      [some, held] = [[], 0];
    }
    some.push(id);
    held += bytes;
  }
  if (some.length > 0) yield some;
}

/** The changes whose processes will do nothing more about them. */
async function leftByDead(
  { journalStore, clock, instances, presence }: JournalRepairDeps,
  alone: boolean,
): Promise<readonly Announced[]> {
  const living = new Map<string, Promise<boolean>>();
  const lives = (instance: string) => getOrMake(living, instance, () => instances.lives(instance));
  const onlooker = { clock, instances: { lives }, own: presence.id, alone };
  const left: Announced[] = [];
  for (const each of await journalStore.announcers()) if (await isDead(onlooker, each)) left.push(each);
  return left;
}

/** A change of a table waits for it: what it has read may be what the change takes out of the history. */
async function repairSome(
  { journal, catalogs, changes, clock }: JournalRepairDeps,
  alone: boolean,
  ids: readonly ObjectId[],
): Promise<number> {
  const tables = tablesById(await catalogs.refresh());
  return journal.repair(ids, tables, {
    isKept: (table) => changes.keepsTable(table),
    mayBeMade: (pending) => !alone && isRecent(pending, clock.now()),
  });
}

/** What is changed that was changed in a time to come is of that time as well: then only the id tells when. */
function isRecent({ id, at }: Pick<Announced, "id" | "at">, now: Date): boolean {
  const announced = at > now ? id.getTimestamp() : at;
  return Math.abs(now.getTime() - announced.getTime()) < WRITTEN_WITHIN_MS;
}
