// Table definitions in `svc_table`, those being made in `_making`, and the number that counts the changes.
import { type Collection, type Db, ObjectId } from "mongodb";
import type { TableDefinition } from "../catalog/definition.js";
import { isDuplicate } from "./driver-errors.js";

/** A definition as stored: the record `svc_table` serves, plus what is ours. */
interface TableDocument extends Omit<TableDefinition, "id"> {
  _id: ObjectId;
  createdAt: Date;
  updatedAt: Date;
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
   * The table that the latest change puts into use. Number and table change in one write, so that nobody sees the
   * one without the other; carrying the definition over into `svc_table` comes after, by whoever comes first.
   */
  latest?: { id: ObjectId; name: string };
}

export interface CatalogStore {
  /** Number of schema changes so far. */
  version(): Promise<number>;
  /** All tables in use. */
  load(): Promise<TableDefinition[]>;
  /** Tables that are being made, or whose making was interrupted. */
  interrupted(): Promise<TableDefinition[]>;
  /** Reserves the name; false when somebody else is making a table of this name. */
  reserve(definition: TableDefinition, now: Date): Promise<boolean>;
  /** Puts a reserved table into use if no other change came in between since `seen`. */
  publish(table: Pick<TableDefinition, "id" | "name">, seen: number): Promise<boolean>;
  /** Gives a reservation up. */
  release(table: Pick<TableDefinition, "id" | "name">): Promise<void>;
}

export function makeCatalogStore(db: Db, systemTablePrefix: string): CatalogStore {
  const tables: Collection<TableDocument> = db.collection<TableDocument>(`${systemTablePrefix}table`);
  const making = db.collection<MakingDocument>("_making");
  const versions = db.collection<VersionDocument>("_versions");
  /** Carries the latest table over into `svc_table`. Everybody may do it, and doing it twice changes nothing. */
  const settle = async (): Promise<void> => {
    const latest = (await versions.findOne({ _id: "catalog" }))?.latest;
    if (latest === undefined) return;
    const reserved = await making.findOne({ _id: latest.name, "table._id": latest.id });
    if (reserved !== null) {
      const { _id, ...definition } = reserved.table;
      await tables.updateOne({ _id }, { $setOnInsert: definition }, { upsert: true });
    }
    await versions.updateOne({ _id: "catalog", "latest.id": latest.id }, { $unset: { latest: "" } });
    await making.deleteOne({ _id: latest.name, "table._id": latest.id });
  };
  return {
    async version() {
      return (await versions.findOne({ _id: "catalog" }))?.version ?? 0;
    },
    async load() {
      await settle();
      const ready = await tables.find().sort({ _id: 1 }).toArray();
      return ready.map(toDefinition);
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
  };
}

/** @returns whether `seen` was still the number of changes, and nothing was left to be carried over */
async function advance(
  versions: Collection<VersionDocument>,
  seen: number,
  latest: { id: ObjectId; name: string },
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
    { _id: "catalog", version: seen, latest: { $exists: false } },
    { $inc: { version: 1 }, $set: { latest } },
  );
  return result.modifiedCount === 1;
}

function toDefinition(document: TableDocument): TableDefinition {
  const { _id, createdAt: _createdAt, updatedAt: _updatedAt, ...definition } = document;
  return { id: _id.toHexString(), ...definition };
}
