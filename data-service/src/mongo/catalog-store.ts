// Table definitions in `svc_table`, those being made in `_making`, the changes in `_changes`, and the number that counts
// them all, in one document with the lock that lets one change at a time be made.
import { AppError } from "@portico/shared/app-error";
import { type Collection, type Db, ObjectId, type UpdateFilter } from "mongodb";
import type { LatestChange } from "../catalog/catalog.js";
import type { TableDefinition } from "../catalog/definition.js";
import type { ChangeDocument } from "./change-store.js";
import { isDuplicate } from "./driver-errors.js";
import { VERSION_FIELD } from "./record-store.js";

/** A definition as stored: the record `svc_table` serves, plus what is ours. */
interface TableDocument extends Omit<TableDefinition, "id"> {
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
interface MakingDocument {
  /** The table's name. */
  _id: string;
  table: TableDocument;
}

interface VersionDocument {
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

type Latest = { readonly id: ObjectId; readonly name: string } | { readonly change: ObjectId };

interface Lock {
  readonly change: ObjectId;
  readonly instance: string;
  /** The change is in use; what is left is tidying up. */
  readonly published?: boolean;
}

/** A change that is being made, by its id, and the instance that makes it. */
export interface Holder {
  readonly change: string;
  readonly instance: string;
}

/** The number of changes so far, and what goes with it. */
export interface CatalogState {
  readonly version: number;
  readonly changing: readonly string[];
  readonly change?: LatestChange;
}

export interface CatalogStore {
  /** Number of schema changes so far, and the tables whose records must not be written just now. */
  state(): Promise<CatalogState>;
  /** All tables in use. */
  load(): Promise<TableDefinition[]>;
  /** The version of a table's definition; undefined when there is no such table. */
  versionOf(table: string): Promise<number | undefined>;
  /** Tables that are being made, or whose making was interrupted. */
  interrupted(): Promise<TableDefinition[]>;
  /** Reserves the name; false when somebody else is making a table of this name. */
  reserve(definition: TableDefinition, now: Date): Promise<boolean>;
  /** Puts a reserved table into use if no other change came in between since `seen`. */
  publish(table: Pick<TableDefinition, "id" | "name">, seen: number): Promise<boolean>;
  /** Gives a reservation up. */
  release(table: Pick<TableDefinition, "id" | "name">): Promise<void>;

  /** Takes the lock for a change; false while another change is being made. */
  lock(holder: Holder): Promise<boolean>;
  /** Who holds the lock. */
  lockedBy(): Promise<(Holder & { readonly published: boolean }) | undefined>;
  /** Takes the lock over from an instance that is gone; false when somebody else was faster. */
  takeOver(from: Holder, instance: string): Promise<boolean>;
  /** Asks everybody to leave the records of a table alone. @returns the number by which it is seen */
  freeze(holder: Holder, table: string): Promise<number>;
  /**
   * Puts a change into use, and lets records be written again; those of permission rules once these follow.
   * @returns the number by which it is seen
   */
  publishChange(holder: Holder): Promise<number>;
  /** The permission rules follow the change: they can be written again. */
  followed(holder: Holder): Promise<void>;
  /** Numbers of children that were being counted can be asked now. @param members ids of relations of the table */
  built(table: string, members: readonly string[]): Promise<void>;
  /** Gives the lock back, and with it a freeze that is still on. */
  unlock(holder: Holder): Promise<void>;
  /** Shows in `svc_table` how far a change is. */
  report(table: string, progress: ChangeProgress): Promise<void>;
  /** Shows that a change failed which was announced, and of which nothing else is known. */
  reportLost(change: string, end: Pick<ChangeProgress, "finishedAt" | "problem">): Promise<void>;
}

export function makeCatalogStore(db: Db, systemTablePrefix: string): CatalogStore {
  const tables: Collection<TableDocument> = db.collection<TableDocument>(`${systemTablePrefix}table`);
  const making = db.collection<MakingDocument>("_making");
  const versions = db.collection<VersionDocument>("_versions");
  const changes = db.collection<ChangeDocument>("_changes");
  /** Carries the latest change over into `svc_table`. Everybody may do it, and doing it twice changes nothing. */
  const settle = async (): Promise<void> => {
    const state = await versions.findOne({ _id: "catalog" });
    if (state?.latest === undefined) return;
    const { latest, version } = state;
    if ("change" in latest) {
      await settleChange(tables, changes, latest.change, version);
      await versions.updateOne(
        { _id: "catalog", "latest.change": latest.change },
        { $unset: { latest: "" } },
      );
      return;
    }
    await settleNew(latest.id, latest.name);
    await versions.updateOne({ _id: "catalog", "latest.id": latest.id }, { $unset: { latest: "" } });
    await making.deleteOne({ _id: latest.name, "table._id": latest.id });
  };
  const settleNew = async (id: ObjectId, name: string): Promise<void> => {
    const reserved = await making.findOne({ _id: name, "table._id": id });
    if (reserved === null) return;
    const { _id, ...definition } = reserved.table;
    await makeRoom(tables, definition.name);
    const { upsertedCount } = await tables.updateOne({ _id }, { $setOnInsert: definition }, { upsert: true });
    // Whoever was slow here may come after the table was deleted again.
    const removed =
      upsertedCount === 1 &&
      (await changes.findOne({ removed: id.toHexString(), state: { $ne: "undone" } })) !== null;
    if (removed) await tables.deleteOne({ _id });
  };
  return {
    async state() {
      const state = await versions.findOne({ _id: "catalog" });
      const { version = 0, changing = [], change } = state ?? {};
      if (change === undefined) return { version, changing };
      return { version, changing, change: { id: change.id.toHexString(), isFollowed: change.isFollowed } };
    },
    async load() {
      await settle();
      const ready = await tables.find(IS_DEFINITION).sort({ _id: 1 }).toArray();
      return ready.map(toDefinition);
    },
    async versionOf(table) {
      const found = await tables.findOne({ _id: ObjectId.createFromHexString(table), ...IS_DEFINITION });
      return found === null ? undefined : (found[VERSION_FIELD] ?? 0);
    },
    async interrupted() {
      const reserved = await making.find().sort({ "table._id": 1 }).toArray();
      return reserved.map(({ table }) => toDefinition(table));
    },
    async reserve({ id, ...definition }, now) {
      const _id = ObjectId.createFromHexString(id);
      const table = { _id, ...definition, createdAt: now, updatedAt: now };
      try {
        await making.insertOne({ _id: definition.name, table });
        return true;
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
    },
    async publish({ id, name }, seen) {
      await settle();
      if (!(await advance(versions, seen, { id: ObjectId.createFromHexString(id), name }))) return false;
      await settle();
      return true;
    },
    async release({ id, name }) {
      // What is published already must not lose the definition it is to be carried over from.
      await settle();
      await making.deleteOne({ _id: name, "table._id": ObjectId.createFromHexString(id) });
    },
    ...changeParts({ tables, versions, settle, rules: `${systemTablePrefix}permission` }),
  };
}

/** The part of the store that changes of tables use. */
function changeParts({
  tables,
  versions,
  settle,
  rules,
}: {
  tables: Collection<TableDocument>;
  versions: Collection<VersionDocument>;
  settle: () => Promise<void>;
  /** Id of the table of permission rules. */
  rules: string;
}): Omit<CatalogStore, "state" | "load" | "versionOf" | "interrupted" | "reserve" | "publish" | "release"> {
  return {
    async lock({ change, instance }) {
      await settle();
      const free = { _id: "catalog" as const, lock: { $exists: false }, latest: { $exists: false } };
      const lock = { change: ObjectId.createFromHexString(change), instance };
      return (await versions.updateOne(free, { $set: { lock } })).modifiedCount === 1;
    },
    async built(table, members) {
      const _id = ObjectId.createFromHexString(table);
      const left = { $setDifference: [{ $ifNull: ["$storage.building", []] }, [...members]] };
      await tables.updateOne({ _id }, [{ $set: { "storage.building": left } }]);
      await versions.updateOne({ _id: "catalog" }, { $inc: { version: 1 } });
    },
    async lockedBy() {
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
    async publishChange(holder) {
      const id = ObjectId.createFromHexString(holder.change);
      const change = { id, isFollowed: false };
      const version = await advanceLocked(versions, holder, {
        $inc: { version: 1 },
        $set: { latest: { change: id }, change, changing: [rules], "lock.published": true },
      });
      await settle();
      return version;
    },
    async followed(holder) {
      const id = ObjectId.createFromHexString(holder.change);
      await advanceLocked(versions, holder, {
        $inc: { version: 1 },
        // Whole: an earlier version, which noted no change here, may have published it.
        $set: { change: { id, isFollowed: true } },
        $unset: { changing: "" },
      });
    },
    async unlock(holder) {
      await settle();
      const frozen = { ...heldBy(holder), changing: { $exists: true } };
      await versions.updateOne(frozen, { $inc: { version: 1 }, $unset: { changing: "", lock: "" } });
      await versions.updateOne(heldBy(holder), { $unset: { lock: "" } });
    },
    async report(table, progress) {
      await tables.updateOne({ _id: ObjectId.createFromHexString(table) }, { $set: { change: progress } });
    },
    async reportLost(change, { finishedAt, problem }) {
      const failed = {
        "change.state": "failed",
        "change.finishedAt": finishedAt,
        "change.problem": problem,
      } as const;
      await tables.updateMany({ "change.id": change, "change.state": "running" }, { $set: failed });
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

/** @throws AppError when the lock was lost, which happens only to an instance that was considered dead */
async function advanceLocked(
  versions: Collection<VersionDocument>,
  holder: Holder,
  update: UpdateFilter<VersionDocument>,
): Promise<number> {
  const state = await versions.findOneAndUpdate(heldBy(holder), update, { returnDocument: "after" });
  if (state === null) throw new AppError("CONFLICT", "Another instance has ended this change; try again.");
  return state.version;
}

/** Puts definitions in the place of earlier ones; a slow instance never puts an older one over a newer. */
async function settleChange(
  tables: Collection<TableDocument>,
  changes: Collection<ChangeDocument>,
  id: ObjectId,
  version: number,
): Promise<void> {
  const change = await changes.findOne({ _id: id });
  if (change === null) return;
  const older = { $or: [{ [VERSION_FIELD]: { $exists: false } }, { [VERSION_FIELD]: { $lt: version } }] };
  for (const { id: table, ...definition } of change.after) {
    const _id = ObjectId.createFromHexString(table);
    const now = { ...definition, [VERSION_FIELD]: version, updatedAt: change.at };
    await makeRoom(tables, definition.name);
    const { matchedCount } = await tables.updateOne({ _id, ...older }, { $set: now });
    const isBack = change.before.every((each) => each.id !== table);
    // A table that was deleted comes back; its id tells when it was made.
    if (matchedCount === 0 && isBack)
      await tables.updateOne(
        { _id },
        { $setOnInsert: { ...now, createdAt: _id.getTimestamp() } },
        { upsert: true },
      );
  }
  const gone = change.removed.map((table) => ObjectId.createFromHexString(table));
  await tables.deleteMany({ _id: { $in: gone }, ...older });
}

/**
 * @returns whether `seen` was still the number of changes, nothing was left to be carried over, and nobody held the
 * lock
 */
async function advance(
  versions: Collection<VersionDocument>,
  seen: number,
  latest: Latest,
): Promise<boolean> {
  if (seen === 0) {
    try {
      await versions.insertOne({ _id: "catalog", version: 1, latest });
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }
  const result = await versions.updateOne(
    { _id: "catalog", version: seen, latest: { $exists: false }, lock: { $exists: false } },
    { $inc: { version: 1 }, $set: { latest } },
  );
  return result.modifiedCount === 1;
}

/** Every definition says where its data lies; whatever else was put into the collection is no table. */
const IS_DEFINITION = { "storage.collection": { $exists: true } } as const;

/** What is no definition must not keep a name from a table: names are unique. */
async function makeRoom(tables: Collection<TableDocument>, name: string): Promise<void> {
  await tables.deleteMany({ name, $nor: [IS_DEFINITION] });
}

/** Of a document only what belongs to a definition: other fields must not get into the next one. */
function toDefinition(document: TableDocument): TableDefinition {
  const { _id, name, description, singleton, changes, history, softDelete, shardKey, idType } = document;
  const { columns, relations, uniques, indexes, storage } = document;
  return {
    id: _id.toHexString(),
    name,
    description,
    singleton,
    ...(changes === undefined ? {} : { changes }),
    ...(history === undefined ? {} : { history }),
    ...(softDelete === undefined ? {} : { softDelete }),
    ...(shardKey === undefined ? {} : { shardKey }),
    idType,
    columns,
    relations,
    uniques,
    indexes,
    storage,
  };
}
