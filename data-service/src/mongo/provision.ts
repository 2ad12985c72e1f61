// Makes a table's collection and indexes; running it again changes nothing.
import { type Db, MongoServerError } from "mongodb";
import type { Table } from "../catalog/catalog.js";
import { type IndexSpec, indexesOf } from "../catalog/indexes.js";

const NAMESPACE_EXISTS = 48;

export async function provisionTable(db: Db, table: Table): Promise<void> {
  await makeCollection(db, table.collection);
  const indexes = indexesOf(table).map(driverIndex);
  if (indexes.length > 0) await db.collection(table.collection).createIndexes(indexes);
}

export async function makeCollection(db: Db, name: string): Promise<void> {
  try {
    await db.createCollection(name);
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === NAMESPACE_EXISTS)) throw error;
  }
}

/** The name MongoDB gives an index by its keys; the same for the same index at every start. */
export function indexName({ key }: IndexSpec): string {
  return key.flat().join("_");
}

export function driverIndex({ key, unique, present }: IndexSpec) {
  const exists = (present ?? []).map((field): [string, { $exists: true }] => [field, { $exists: true }]);
  return {
    key: new Map(key),
    ...(unique ? { unique } : {}),
    ...(exists.length > 0 ? { partialFilterExpression: Object.fromEntries(exists) } : {}),
  };
}
