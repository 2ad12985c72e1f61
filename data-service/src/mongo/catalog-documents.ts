// Where the definitions of tables are stored: in use in `svc_table`, being made in `_making`, as changes bring them in
// `_changes`. A number counts all changes, in one document with the lock that lets one change at a time be made.
import type { Collection, Db, ObjectId } from "mongodb";
import type { TableDefinition } from "../catalog/definition.js";
import { VERSION_FIELD } from "../catalog/own-fields.js";
import { systemTableNames } from "../catalog/system-tables.js";
import type { ChangeDocument } from "./change-store.js";

/** A definition as stored: the record `svc_table` serves, plus what is ours. */
export interface TableDocument extends Omit<TableDefinition, "id"> {
  _id: ObjectId;
  createdAt: Date;
  updatedAt: Date;
  /**
   * The number of the change that it was put into use by; none for a table that was never changed. It lies where records
   * have their versions, so that it is the version in the ETag of a table.
   */
  [VERSION_FIELD]?: number;
  /** How far the latest change is, or how it ended. */
  change?: ChangeProgress;
}

/** What `svc_table` shows of a change. */
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
  /** Confirms what it would cost, where it failed for want of that. */
  readonly confirmHash?: string;
}

/** A table until its collection and indexes are there; it does not exist for anyone yet, but its name is taken. */
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
   * The new table, or the change of tables, that the latest number puts into use. Both change in one write, so that
   * nobody sees the one without the other; carrying it over into `svc_table` comes after, by whoever comes first.
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
  readonly changes: Collection<ChangeDocument>;
}

export function catalogCollections(db: Db, systemTablePrefix: string): CatalogCollections {
  return {
    tables: db.collection<TableDocument>(systemTableNames(systemTablePrefix).tables),
    making: db.collection<MakingDocument>("_making"),
    versions: db.collection<VersionDocument>("_versions"),
    changes: db.collection<ChangeDocument>("_changes"),
  };
}
