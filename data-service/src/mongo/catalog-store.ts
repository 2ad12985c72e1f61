// Table definitions in `svc_table`, and the number that counts their changes.
import { type Collection, type Db, ObjectId } from "mongodb";
import type { TableDefinition } from "../catalog/definition.js";
import { isDuplicate } from "./driver-errors.js";

/** A definition as stored: the record `svc_table` serves, plus what is ours. */
interface TableDocument extends Omit<TableDefinition, "id"> {
  _id: ObjectId;
  /** "making" until collection and indexes are there; such a table does not exist for anyone yet. */
  state: "making" | "ready";
  createdAt: Date;
  updatedAt: Date;
}

interface VersionDocument {
  _id: "catalog";
  version: number;
}

export interface CatalogStore {
  /** Number of schema changes so far. */
  version(): Promise<number>;
  /** All tables in use, and those whose making was interrupted. */
  load(): Promise<{ ready: TableDefinition[]; making: TableDefinition[] }>;
  /** Reserves the name; false when it is taken. */
  reserve(definition: TableDefinition, now: Date): Promise<boolean>;
  /** Puts a reserved table into use if no other change came in between since `seen`. */
  publish(id: string, seen: number): Promise<boolean>;
  /** Gives a reservation up. */
  release(id: string): Promise<void>;
}

export function makeCatalogStore(db: Db, systemTablePrefix: string): CatalogStore {
  const tables: Collection<TableDocument> = db.collection<TableDocument>(`${systemTablePrefix}table`);
  const versions = db.collection<VersionDocument>("_versions");
  return {
    async version() {
      return (await versions.findOne({ _id: "catalog" }))?.version ?? 0;
    },
    async load() {
      const documents = await tables.find().sort({ _id: 1 }).toArray();
      const definitions = (state: TableDocument["state"]) =>
        documents.filter((each) => each.state === state).map(toDefinition);
      return { ready: definitions("ready"), making: definitions("making") };
    },
    async reserve({ id, ...definition }, now) {
      const document: TableDocument = {
        _id: ObjectId.createFromHexString(id),
        ...definition,
        state: "making",
        createdAt: now,
        updatedAt: now,
      };
      try {
        await tables.insertOne(document);
        return true;
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
    },
    async publish(id, seen) {
      if (!(await advance(versions, seen))) return false;
      await tables.updateOne({ _id: ObjectId.createFromHexString(id) }, { $set: { state: "ready" } });
      // Instances that read between the two writes saw the old tables under the new number: count once more.
      await versions.updateOne({ _id: "catalog" }, { $inc: { version: 1 } });
      return true;
    },
    async release(id) {
      await tables.deleteOne({ _id: ObjectId.createFromHexString(id), state: "making" });
    },
  };
}

async function advance(versions: Collection<VersionDocument>, seen: number): Promise<boolean> {
  if (seen === 0) {
    try {
      await versions.insertOne({ _id: "catalog", version: 1 });
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }
  const result = await versions.updateOne({ _id: "catalog", version: seen }, { $inc: { version: 1 } });
  return result.modifiedCount === 1;
}

function toDefinition(document: TableDocument): TableDefinition {
  const { _id, state: _state, createdAt: _createdAt, updatedAt: _updatedAt, ...definition } = document;
  return { id: _id.toHexString(), ...definition };
}
