// Lets only one thing of a kind happen at a time, over all instances: for checks that involve many records (would moving a
// folder make a circle? is there another root admin?), which no single write can make.
//
// A process that is suspended in the middle loses the lock without knowing it. So whoever asks the question puts its own
// turn into every record on which the answer rests, and writes only while its turn is still there: the next one to ask
// replaces it with theirs.
import { randomUUID } from "node:crypto";
import { unavailable } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Db } from "mongodb";
import { until } from "../until.js";
import { unlessDuplicate } from "./driver-errors.js";
import { hasLapsed } from "./lapsed-lease.js";

/** A process that died is waited for no longer than this; one that works renews its lease. */
const LOCK_LEASE_MS = 10_000;
const RENEW_MS = LOCK_LEASE_MS / 4;
const PATIENCE_MS = 15_000;
/** The first pause of who waits; each is longer than the one before, up to a fifth of a second: others wait as well. */
const LOOK_MS = 20;
const LOOK_AT_MOST_MS = 200;

/** Runs a task alone. @param task is given its turn, a name that no other task has */
export type Lock = <Result>(task: (turn: string) => Promise<Result>) => Promise<Result>;

interface LockDocument {
  readonly _id: string;
  readonly holder: string;
  readonly until: Date;
}

/**
 * @param name of what happens
 * @param refusal the message when others take too long
 */
export function makeLock(db: Db, clock: Clock, name: string, refusal: string): Lock {
  // Named when only folders had a lock; it holds the one of root admins, too.
  const locks = db.collection<LockDocument>("_tree_lock");
  const take = async (holder: string): Promise<boolean> => {
    const now = clock.now();
    const leaseUntil = new Date(now.getTime() + LOCK_LEASE_MS);
    const over = { _id: name, ...hasLapsed("until", now, LOCK_LEASE_MS) };
    const taken = { $set: { holder, until: leaseUntil } };
    // One that exists and has not expired: the upsert collides with it.
    return (await locks.updateOne(over, taken, { upsert: true }).catch(unlessDuplicate)) !== undefined;
  };
  const renew = (holder: string): void => {
    const leaseUntil = new Date(clock.now().getTime() + LOCK_LEASE_MS);
    locks.updateOne({ _id: name, holder }, { $set: { until: leaseUntil } }).catch(() => undefined);
  };
  const tooLate = () => {
    throw unavailable(refusal, 2);
  };
  return async (task) => {
    const holder = randomUUID();
    await until(() => take(holder), {
      patienceMs: PATIENCE_MS,
      everyMs: LOOK_MS,
      atMostMs: LOOK_AT_MOST_MS,
      tooLate,
    });
    const renewing = setInterval(renew, RENEW_MS, holder).unref();
    try {
      return await task(holder);
    } finally {
      clearInterval(renewing);
      await locks.deleteOne({ _id: name, holder }).catch(() => undefined);
    }
  };
}
