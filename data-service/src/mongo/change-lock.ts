// One change of tables at a time, whoever makes it: who is making it, and when it is in use.
import { AppError } from "@portico/shared/app-error";
import { type Collection, type Db, ObjectId, type UpdateFilter } from "mongodb";
import { systemTableNames } from "../catalog/system-tables.js";
import { catalogCollections, type VersionDocument } from "./catalog-documents.js";
import { settle } from "./settle-catalog.js";

/** A change that is being made, by its id, and the instance that makes it. */
export interface Holder {
  readonly change: string;
  readonly instance: string;
}

export interface ChangeLock {
  /** Takes the lock for a change; false while another change is being made. */
  take(holder: Holder): Promise<boolean>;
  /** Who holds the lock. */
  holder(): Promise<(Holder & { readonly published: boolean }) | undefined>;
  /** Does this holder still have it? One that was suspended for long may have lost it. */
  isHeld(holder: Holder): Promise<boolean>;
  /** Call this before anything is taken away. @throws AppError when another instance has ended the change */
  requireHeld(holder: Holder): Promise<void>;
  /** Takes the lock over from an instance that is gone; false when somebody else was faster. */
  takeOver(from: Holder, instance: string): Promise<boolean>;
  /** Asks everybody to leave a table's records alone. @returns the number by which this is noticed */
  freeze(holder: Holder, table: string): Promise<number>;
  /**
   * Puts a change into use, and lets records be written again; permission rules only once they follow.
   * @returns the number by which this is noticed
   */
  publish(holder: Holder): Promise<number>;
  /** Do the permission rules follow the change? Rules that were written since already use its names. */
  isFollowed(holder: Holder): Promise<boolean>;
  /** The permission rules follow the change now, so they can be written again. */
  followed(holder: Holder): Promise<void>;
  /** Gives the lock back, and ends a freeze that is still on. */
  release(holder: Holder): Promise<void>;
}

export function makeChangeLock(db: Db, systemTablePrefix: string, isCluster = false): ChangeLock {
  const collections = catalogCollections(db, systemTablePrefix, isCluster);
  const { versions } = collections;
  const rules = systemTableNames(systemTablePrefix).permissions;
  const isHeld = async (holder: Holder): Promise<boolean> =>
    (await versions.findOne(heldBy(holder), { projection: { _id: 1 } })) !== null;
  return {
    isHeld,
    async requireHeld(holder) {
      if (!(await isHeld(holder))) throw lockLost();
    },
    async take({ change, instance }) {
      await settle(collections);
      const free = { _id: "catalog" as const, lock: { $exists: false }, latest: { $exists: false } };
      const lock = { change: ObjectId.createFromHexString(change), instance };
      return (await versions.updateOne(free, { $set: { lock } })).modifiedCount === 1;
    },
    async holder() {
      const lock = (await versions.findOne({ _id: "catalog" }))?.lock;
      if (lock === undefined) return undefined;
      const { change, instance, published = false } = lock;
      return { change: change.toHexString(), instance, published };
    },
    async takeOver(from, instance) {
      const taken = { $set: { "lock.instance": instance } };
      return (await versions.updateOne(heldBy(from), taken)).modifiedCount === 1;
    },
    async freeze(holder, table) {
      return advanceLocked(versions, holder, { $inc: { version: 1 }, $set: { changing: [table] } });
    },
    async publish(holder) {
      const id = ObjectId.createFromHexString(holder.change);
      const change = { id, isFollowed: false };
      const version = await advanceLocked(versions, holder, {
        $inc: { version: 1 },
        $set: { latest: { change: id }, change, changing: [rules], "lock.published": true },
      });
      await settle(collections);
      return version;
    },
    async isFollowed(holder) {
      const change = { id: ObjectId.createFromHexString(holder.change), isFollowed: true };
      return (await versions.findOne({ ...heldBy(holder), change }, { projection: { _id: 1 } })) !== null;
    },
    async followed(holder) {
      const id = ObjectId.createFromHexString(holder.change);
      await advanceLocked(versions, holder, {
        $inc: { version: 1 },
        // The whole object: an earlier version, which noted no change here, may have published it.
        $set: { change: { id, isFollowed: true } },
        $unset: { changing: "" },
      });
    },
    async release(holder) {
      await settle(collections);
      const frozen = { ...heldBy(holder), changing: { $exists: true } };
      await versions.updateOne(frozen, { $inc: { version: 1 }, $unset: { changing: "", lock: "" } });
      await versions.updateOne(heldBy(holder), { $unset: { lock: "" } });
    },
  };
}

function heldBy({ change, instance }: Holder) {
  return {
    _id: "catalog" as const,
    "lock.change": ObjectId.createFromHexString(change),
    "lock.instance": instance,
  };
}

/** @throws AppError when the lock was lost */
async function advanceLocked(
  versions: Collection<VersionDocument>,
  holder: Holder,
  update: UpdateFilter<VersionDocument>,
): Promise<number> {
  const state = await versions.findOneAndUpdate(heldBy(holder), update, { returnDocument: "after" });
  if (state === null) throw lockLost();
  return state.version;
}

/** Only for an instance that was considered dead. */
export function lockLost(): AppError {
  return new AppError("CONFLICT", "Another instance has ended this change; try again.");
}
