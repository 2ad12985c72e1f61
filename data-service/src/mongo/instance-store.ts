// Which data services run on this database, and which version of the schema each of them uses: `_instances`.
import type { Db } from "mongodb";

/**
 * An instance that has been silent for this long is gone, or cut off from the database, and does nothing more without asking
 * first.
 */
export const INSTANCE_LEASE_MS = 5_000;

/** An instance that was killed is listed for so long: nothing else takes it out where several use a database. */
const LISTED_MS = 24 * 60 * 60_000;

export const INSTANCES = "_instances";

interface InstanceDocument {
  _id: string;
  version: number;
  /** By the database's clock, which all instances share. */
  at: Date;
}

export interface InstanceStore {
  /** Says that this instance is alive and has finished everything that it began with an earlier number. */
  announce(instance: string, version: number): Promise<void>;
  /** Takes this instance out of the list. */
  leave(instance: string): Promise<void>;
  /** Living instances that still work with an earlier number. */
  behind(version: number, except: string): Promise<string[]>;
  /** Is this instance alive? */
  lives(instance: string): Promise<boolean>;
  /** Is any instance alive? */
  anyLives(): Promise<boolean>;
  /** Takes out those that were killed long ago, or while the clock was far ahead. */
  sweep(): Promise<void>;
  /** Nobody else can have this database open: all listed instances are gone. */
  clear(): Promise<void>;
}

export function makeInstanceStore(db: Db): InstanceStore {
  // A crash of the database may lose these: then no instance is waited for, and every instance asks again.
  const instances = db.collection<InstanceDocument>(INSTANCES, { writeConcern: { w: 1, journal: false } });
  // Not from a time to come, either: that was written before the clock was set back, and who lives has said so anew since.
  const heardWithin = (ms: number) => ({
    $and: [{ $gt: ["$at", { $subtract: ["$$NOW", ms] }] }, { $lte: ["$at", { $add: ["$$NOW", ms] }] }],
  });
  const alive = { $expr: heardWithin(INSTANCE_LEASE_MS) };
  return {
    async announce(instance, version) {
      const now = { $set: { version }, $currentDate: { at: true } } as const;
      await instances.updateOne({ _id: instance }, now, { upsert: true });
    },
    async leave(instance) {
      await instances.deleteOne({ _id: instance });
    },
    async behind(version, except) {
      const found = await instances
        .find({ version: { $lt: version }, _id: { $ne: except }, ...alive })
        .toArray();
      return found.map(({ _id }) => _id);
    },
    async lives(instance) {
      return (await instances.findOne({ _id: instance, ...alive })) !== null;
    },
    async anyLives() {
      return (await instances.findOne(alive)) !== null;
    },
    async sweep() {
      await instances.deleteMany({ $expr: { $not: [heardWithin(LISTED_MS)] } });
    },
    async clear() {
      await instances.deleteMany({});
    },
  };
}
