// What processes that died a moment ago have left half done is taken back, or deleted wholly, before a schema file is applied.
// Afterwards roles and rules that the file has found there would be gone. (A change of a table waits by itself for what was
// written there: see schema/await-unfinished.)
import { INSTANCE_LEASE_MS } from "../../mongo/instance-store.js";
import { isOpen } from "../../mongo/unfinished-store.js";
import { isDead, type Noted } from "../../schema/dead-instances.js";
import { until } from "../../until.js";
import { areKept } from "./are-kept.js";
import { repairUnfinished, type UnfinishedRepairDeps } from "./repair-unfinished.js";

/** No process takes longer to count as dead, unless its clock is wrong. */
const PATIENCE_MS = 20_000;
const LOOK_MS = 1_000;

/**
 * Costs one look where nothing is under way. What living instances have under way is not waited for, once they can't be dead
 * ones.
 */
export async function repairBeforeChanges(deps: UnfinishedRepairDeps): Promise<void> {
  const began = performance.now();
  const isRepaired = async (): Promise<boolean> => {
    const left = await leftByOthers(deps);
    if (left.length === 0) return true;
    // One that died just now is listed among the living for so long.
    const isListed = performance.now() - began <= INSTANCE_LEASE_MS;
    const mustWait = await Promise.all(left.map((note) => mayCountAsDeadLater(deps, note, isListed)));
    await repairUnfinished(deps, { alone: false });
    return !mustWait.includes(true);
  };
  const tooLate = () => {
    deps.logger.warn(
      "what interrupted requests have written in half is not taken back before the schema file is applied",
    );
    return true;
  };
  await until(isRepaired, { patienceMs: PATIENCE_MS, everyMs: LOOK_MS, tooLate });
}

async function leftByOthers(deps: UnfinishedRepairDeps): Promise<Noted[]> {
  const { notes, instance } = deps.deletes;
  const [writes, deletes] = await Promise.all([notes.all(), notes.openDeletes()]);
  const isOthers = (each: Noted): boolean => each.instance !== instance;
  const left: Noted[] = deletes.filter(isOthers);
  const catalog = await deps.catalogs.get();
  for (const each of writes.filter((note) => isOthers(note) && isOpen(note)))
    if (!(await areKept(deps, catalog, each.steps))) left.push(each);
  return left;
}

/** @param isListed whether an instance that is listed as living may be dead all the same */
async function mayCountAsDeadLater(
  { clock, instances, deletes }: UnfinishedRepairDeps,
  note: Noted,
  isListed: boolean,
): Promise<boolean> {
  // The others have been looked at, and are put off for a reason.
  if (await isDead({ clock, instances, own: deletes.instance, alone: false }, note)) return false;
  return isListed || !(await instances.lives(note.instance));
}
