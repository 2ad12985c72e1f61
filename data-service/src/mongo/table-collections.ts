// What a change of a table does to its collection as a whole: indexes, shards, and its removal.
import type { Db } from "mongodb";
import type { Table } from "../catalog/catalog.js";
import type { IndexSpec } from "../catalog/indexes.js";
import { isDuplicate } from "./driver-errors.js";
import { dropIndex, unlessMissing } from "./drop-index.js";
import { type Building, ensureIndexes, makeCollection, ownIndexNames } from "./provision.js";
import { forgetSequence } from "./sequences.js";
import { shardById } from "./sharding.js";
import type { RequireLock } from "./table-writes.js";

export interface TableCollections {
  /** Builds indexes for a change. @returns false for a duplicate @throws AppError 409 where MongoDB allows none */
  build(table: Table, indexes: readonly IndexSpec[], building: Building): Promise<boolean>;
  /** Spreads the records over the shards, if there are any. */
  shard(table: Table): Promise<void>;
  /**
   * Drops existing indexes, but none that is built after the lock was asked for, however late the drop arrives (see
   * `Building`).
   * @param isMeant chooses indexes by name; without it all are dropped
   */
  dropIndexes(
    table: Table,
    indexes: readonly IndexSpec[],
    requireLock: RequireLock,
    isMeant?: (name: string) => boolean,
  ): Promise<void>;
  /** Drops a collection with all records. */
  dropCollection(collection: string): Promise<void>;
  /** For a table that is gone for good. @param table its id */
  forgetSequence(table: string): Promise<void>;
}

export function makeTableCollections(db: Db): TableCollections {
  return {
    async build(table, indexes, building) {
      try {
        await makeCollection(db, table.collection);
        await ensureIndexes(db, table, indexes, building);
        return true;
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
    },
    shard: (table) => shardById(db, table.collection),
    async dropIndexes(table, indexes, requireLock, isMeant = () => true) {
      if (indexes.length === 0) return;
      // First the names, then the question: an index that is built after somebody else has taken over has another name.
      const names = await ownIndexNames(db, table, indexes).catch(unlessMissing);
      for (const name of names ?? []) {
        if (!isMeant(name)) continue;
        await requireLock();
        await dropIndex(db.collection(table.collection), name);
      }
    },
    async dropCollection(collection) {
      await db.dropCollection(collection).catch(unlessMissing);
    },
    forgetSequence: (table) => forgetSequence(db, table),
  };
}
