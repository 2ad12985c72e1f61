// Lets one thing of a kind happen at a time, over all instances: for questions about many records (does the move of a
// folder make a circle? is there another root admin?), which no single write could ask.
import { randomUUID } from "node:crypto";
import { unavailable } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Db } from "mongodb";
import { isDuplicate } from "./driver-errors.js";

/** Far longer than such a thing takes; a process that died in one is waited for no longer. */
const LEASE_MS = 10_000;
const PATIENCE_MS = 15_000;
const LOOK_MS = 20;

export type Lock = <Result>(task: () => Promise<Result>) => Promise<Result>;

interface LockDocument {
  readonly _id: string;
  readonly holder: string;
  readonly until: Date;
}

/**
 * @param name of what happens
 * @param refusal says why it can't, when others take too long
 */
export function makeLock(db: Db, clock: Clock, name: string, refusal: string): Lock {
  const locks = db.collection<LockDocument>("_tree_lock");
  const take = async (holder: string): Promise<boolean> => {
    const now = clock.now();
    const until = new Date(now.getTime() + LEASE_MS);
    try {
      await locks.updateOne(
        { _id: name, until: { $lte: now } },
        { $set: { holder, until } },
        { upsert: true },
      );
      return true;
    } catch (error) {
      // It is there and not over: the upsert collides with it.
      if (isDuplicate(error)) return false;
      throw error;
    }
  };
  return async (task) => {
    const holder = randomUUID();
    const began = performance.now();
    while (!(await take(holder))) {
      if (performance.now() - began > PATIENCE_MS) throw unavailable(refusal, 2);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    try {
      return await task();
    } finally {
      await locks.deleteOne({ _id: name, holder }).catch(() => undefined);
    }
  };
}
