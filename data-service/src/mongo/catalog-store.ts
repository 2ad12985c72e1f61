// The definitions of tables, and the number that counts their changes: see catalog-documents.
import { type Collection, type Db, ObjectId } from "mongodb";
import type { LatestChange } from "../catalog/catalog.js";
import type { TableDefinition } from "../catalog/definition.js";
import { VERSION_FIELD } from "../catalog/own-fields.js";
import type { Noted } from "../schema/dead-instances.js";
import {
  type ChangeProgress,
  catalogCollections,
  type Latest,
  type TableDocument,
  type VersionDocument,
} from "./catalog-documents.js";
import { unlessDuplicate } from "./driver-errors.js";
import { IS_DEFINITION, settle } from "./settle-catalog.js";

/** The maker of a table that its own instance has given up: no instance has this name. */
const NOBODY = "-";

/** The number of changes so far, and what belongs to it. */
export interface CatalogState {
  readonly version: number;
  readonly changing: readonly string[];
  readonly change?: LatestChange;
}

/** A table that does not exist yet. */
export interface Making {
  readonly definition: TableDefinition;
  /** The instance that makes it, and since when. */
  readonly maker: Noted;
}

/** A table that is there and is as its maker published it, who has not done yet. */
export interface HalfMade extends Pick<TableDefinition, "id"> {
  readonly maker: Noted;
}

export interface CatalogStore {
  /** Number of schema changes so far, and the tables whose records must not be written just now. */
  state(): Promise<CatalogState>;
  /** All tables in use. Copies the latest change into `svc_table`, if nobody has done that yet. */
  load(): Promise<TableDefinition[]>;
  /** Whether there is nothing for `load` to copy. */
  isSettled(): Promise<boolean>;
  /** The version of a table's definition; undefined when there is no such table. */
  versionOf(table: string): Promise<number | undefined>;
  /** Tables that are being made, or whose making was interrupted. */
  making(): Promise<Making[]>;
  /**
   * Reserves the name; false when somebody else is making a table of this name.
   * @param isHalf the maker goes on when it is published, and says `made` then
   */
  reserve(definition: TableDefinition, maker: Noted, isHalf?: boolean): Promise<boolean>;
  /** Tables that were published, and whose makers have not gone on yet. */
  halfMade(): Promise<HalfMade[]>;
  /** The maker of a table has done. */
  made(table: string): Promise<void>;
  /** The maker of a table will not go on, and could not take it back itself. */
  leave(table: string): Promise<void>;
  /** Takes the making of a table over. @returns false when somebody else was faster, or it has ended */
  takeOver(making: Making, instance: string): Promise<boolean>;
  /** Is the name still reserved for this table, by this instance? */
  isMaking(table: Pick<TableDefinition, "id" | "name">, instance: string): Promise<boolean>;
  /** Puts a reserved table into use, unless another change came after `seen`. */
  publish(table: Pick<TableDefinition, "id" | "name">, seen: number): Promise<boolean>;
  /** Gives up a reservation of this instance. */
  release(table: Pick<TableDefinition, "id" | "name">, instance: string): Promise<void>;
  /**
   * From now on the numbers of children that were being counted can be used. @param members ids of relations of the table
   */
  built(table: string, members: readonly string[]): Promise<void>;
  /** Shows in `svc_table` how far a change is. */
  report(table: string, progress: ChangeProgress): Promise<void>;
  /** Shows that a change failed which was announced, and about which nothing else is known. */
  reportLost(change: string, end: Pick<ChangeProgress, "finishedAt" | "problem">): Promise<void>;
}

export function makeCatalogStore(db: Db, systemTablePrefix: string, isCluster = false): CatalogStore {
  const collections = catalogCollections(db, systemTablePrefix, isCluster);
  const { tables, making, versions, told } = collections;
  return {
    async state() {
      const state = await told.findOne({ _id: "catalog" });
      const { version = 0, changing = [], change } = state ?? {};
      if (change === undefined) return { version, changing };
      return { version, changing, change: { id: change.id.toHexString(), isFollowed: change.isFollowed } };
    },
    async load() {
      await settle(collections);
      const ready = await tables.find(IS_DEFINITION).sort({ _id: 1 }).toArray();
      return ready.map(toDefinition);
    },
    async isSettled() {
      return (await told.findOne({ _id: "catalog" }))?.latest === undefined;
    },
    async versionOf(table) {
      const found = await tables.findOne({ _id: ObjectId.createFromHexString(table), ...IS_DEFINITION });
      return found === null ? undefined : (found[VERSION_FIELD] ?? 0);
    },
    async making() {
      const reserved = await making.find().sort({ "table._id": 1 }).toArray();
      return reserved.map(({ table, by = "" }) => ({
        definition: toDefinition(table),
        maker: { instance: by, at: table.createdAt },
      }));
    },
    async reserve({ id, ...definition }, maker, isHalf = false) {
      const { instance, at } = maker;
      const _id = ObjectId.createFromHexString(id);
      const times = { createdAt: at, updatedAt: at };
      // It goes with the definition into `svc_table`, so that no moment is without it.
      const table = { _id, ...definition, ...times, ...(isHalf ? { halfMadeBy: maker } : {}) };
      const reserved = { _id: definition.name, table, by: instance };
      return (await making.insertOne(reserved).catch(unlessDuplicate)) !== undefined;
    },
    async halfMade() {
      const unchanged = { halfMadeBy: { $exists: true }, [VERSION_FIELD]: { $exists: false } };
      const found = await tables.find(unchanged).toArray();
      return found.flatMap(({ _id, halfMadeBy: maker }) =>
        maker === undefined ? [] : [{ id: _id.toHexString(), maker }],
      );
    },
    async made(table) {
      await tables.updateOne({ _id: ObjectId.createFromHexString(table) }, { $unset: { halfMadeBy: "" } });
    },
    async leave(table) {
      const which = { _id: ObjectId.createFromHexString(table), halfMadeBy: { $exists: true } };
      await tables.updateOne(which, { $set: { halfMadeBy: { instance: NOBODY, at: new Date(0) } } });
    },
    async publish({ id, name }, seen) {
      await settle(collections);
      if (!(await advance(versions, seen, { id: ObjectId.createFromHexString(id), name }))) return false;
      await settle(collections);
      return true;
    },
    async takeOver({ definition, maker }, instance) {
      // Earlier versions did not note whose it is.
      const by = maker.instance === "" ? { $exists: false } : maker.instance;
      const reserved = { ...reservationOf(definition), by };
      return (await making.updateOne(reserved, { $set: { by: instance } })).matchedCount === 1;
    },
    async isMaking(table, by) {
      return (await making.findOne({ ...reservationOf(table), by })) !== null;
    },
    async release(table, by) {
      // A table that is already published must not lose the definition that is still to be copied.
      await settle(collections);
      await making.deleteOne({ ...reservationOf(table), by });
    },
    async built(table, members) {
      const _id = ObjectId.createFromHexString(table);
      const left = { $setDifference: [{ $ifNull: ["$storage.building", []] }, [...members]] };
      await tables.updateOne({ _id }, [{ $set: { "storage.building": left } }]);
      await versions.updateOne({ _id: "catalog" }, { $inc: { version: 1 } });
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

/** The name may now be reserved for another table. */
function reservationOf({ id, name }: Pick<TableDefinition, "id" | "name">) {
  return { _id: name, "table._id": ObjectId.createFromHexString(id) };
}

/** @returns whether `seen` was still the number of changes, nothing was left to be copied, and nobody held the lock */
async function advance(
  versions: Collection<VersionDocument>,
  seen: number,
  latest: Latest,
): Promise<boolean> {
  if (seen === 0) {
    const first = { _id: "catalog", version: 1, latest } as const;
    return (await versions.insertOne(first).catch(unlessDuplicate)) !== undefined;
  }
  const result = await versions.updateOne(
    { _id: "catalog", version: seen, latest: { $exists: false }, lock: { $exists: false } },
    { $inc: { version: 1 }, $set: { latest } },
  );
  return result.modifiedCount === 1;
}

/** Only the fields of a document that belong to a definition: others must not get into the next one. */
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
