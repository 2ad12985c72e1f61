// Where table definitions are stored: in use in `svc_table`, being made in `_making`, in changes in `_changes`. A number
// counts all changes, in one document with the lock that lets only one change be made at a time.
import type { Collection, Db, ObjectId } from "mongodb";
import type { TableDefinition } from "../catalog/definition.js";
import { VERSION_FIELD } from "../catalog/own-fields.js";
import { systemTableNames } from "../catalog/system-tables.js";
import type { Noted } from "../schema/dead-instances.js";
import type { ChangeDocument } from "./change-store.js";

/** A definition as stored: the record that `svc_table` shows, plus our own fields. */
export interface TableDocument extends Omit<TableDefinition, "id"> {
  _id: ObjectId;
  createdAt: Date;
  updatedAt: Date;
  /**
   * The number of the change that put it into use; absent for a table that was never changed. It is stored where records
   * have their versions, so it is the version in a table's ETag.
   */
  [VERSION_FIELD]?: number;
  /** How far the latest change is, or how it ended. */
  change?: ChangeProgress;
  /** Who made it without members, to give it those next. Of a table that has been changed since it says nothing. */
  halfMadeBy?: Noted;
}

/** What `svc_table` shows about a change. */
export interface ChangeProgress {
  readonly id: string;
  readonly state: "running" | "done" | "failed";
  /** Records and indexes that are ready, out of `total`. */
  readonly done: number;
  readonly total: number;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  /** Why it failed. */
  readonly problem: string | null;
  /** Confirms what the change would cost, if it failed for lack of a confirmation. */
  readonly confirmHash?: string;
}

/** A table whose collection and indexes are still being made: it does not exist for anybody yet, but its name is taken. */
export interface MakingDocument {
  /** The table's name. */
  _id: string;
  table: TableDocument;
  /** Who makes it; earlier versions did not say. */
  by?: string;
}

export interface VersionDocument {
  _id: "catalog";
  version: number;
  /**
   * The new table, or the change of tables, that the latest number puts into use. Both are set in one write, so that nobody
   * sees one without the other; the first instance that comes along then copies it into `svc_table`.
   */
  latest?: Latest;
  /** The change that is being made, and the instance that makes it. No other change begins meanwhile. */
  lock?: Lock;
  /** Ids of tables whose records nobody writes until the change is in use, or given up. */
  changing?: string[];
  /** The latest change that was put into use, and whether the permission rules follow it already. */
  change?: { id: ObjectId; isFollowed: boolean };
}

export type Latest = { readonly id: ObjectId; readonly name: string } | { readonly change: ObjectId };

interface Lock {
  readonly change: ObjectId;
  readonly instance: string;
  /** The change is in use; what is left is tidying up. */
  readonly published?: boolean;
}

export interface CatalogCollections {
  readonly tables: Collection<TableDocument>;
  readonly making: Collection<MakingDocument>;
  readonly versions: Collection<VersionDocument>;
  /** The same, to learn from. */
  readonly told: Collection<VersionDocument>;
  readonly changes: Collection<ChangeDocument>;
}

/** @param isCluster whether a write that was seen may be rolled back */
export function catalogCollections(
  db: Db,
  systemTablePrefix: string,
  isCluster: boolean,
): CatalogCollections {
  // A number that is rolled back is given again, to another change; whoever had seen it would not look at that one.
  const safe = isCluster ? { readConcern: { level: "majority" } as const } : {};
  return {
    tables: db.collection<TableDocument>(systemTableNames(systemTablePrefix).tables),
    making: db.collection<MakingDocument>("_making"),
    versions: db.collection<VersionDocument>("_versions"),
    told: db.collection<VersionDocument>("_versions", safe),
    changes: db.collection<ChangeDocument>("_changes"),
  };
}
