// Fills a database with the benchmark's records, straight through the driver, in the form the service writes.
import { buildCatalog } from "@portico/data-service/catalog/build-catalog";
import { type Catalog, ownCounters, type Table } from "@portico/data-service/catalog/catalog";
import { makeCatalogStore } from "@portico/data-service/mongo/catalog-store";
import { provisionTable } from "@portico/data-service/mongo/provision";
import type { Document } from "@portico/data-service/query/lower/document";
import { checkBody } from "@portico/data-service/records/body/check-body";
import { ownFields } from "@portico/data-service/records/body/write-plan";
import { findTable } from "@portico/data-service/records/find-table";
import { type Db, ObjectId } from "mongodb";
import { countOf, hexId, type Row, rowOf, TABLES } from "./tables.js";

const BATCH = 5_000;

/** What a database is filled with. */
export interface Records {
  /** Names of tables, those that are linked to first. */
  readonly tables: readonly string[];
  readonly countOf: (table: string) => number;
  /** The record at a position of a table; the same every time. */
  readonly rowOf: (table: string, at: number) => Row;
}

/** The records of a size of the scaling benchmark. */
export function recordsOf(posts: number): Records {
  return {
    tables: TABLES.map(({ name }) => name),
    countOf: (table) => countOf(table, posts),
    rowOf: (table, at) => rowOf(table, at, posts),
  };
}

/** The id of the record at a position of the scaling benchmark. */
export function idOf(table: string, at: number, posts: number): ObjectId {
  return recordId(table, at, recordsOf(posts));
}

export function recordId(table: string, at: number, records: Records): ObjectId {
  return ObjectId.createFromHexString(hexId(table, at, records.rowOf(table, at).createdAt));
}

/**
 * Fills tables, which must exist and be empty.
 * @param progress called with a sentence after each table
 */
export async function load(db: Db, records: Records, progress: (text: string) => void): Promise<void> {
  const definitions = await makeCatalogStore(db, "svc_").load();
  const catalog = buildCatalog(0, definitions, []);
  for (const name of records.tables) {
    const started = performance.now();
    const table = findTable(catalog, name);
    await fill(db, table, catalog, records);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    progress(`${name}: ${records.countOf(name)} records in ${seconds} s`);
  }
  await addDerived(db, catalog);
}

/** Indexes are made anew when the records are there: sorted at once, they take a fraction of the time. */
async function fill(db: Db, table: Table, catalog: Catalog, records: Records): Promise<void> {
  const collection = db.collection<Document>(table.collection, { writeConcern: { w: 1 } });
  await collection.dropIndexes();
  const count = records.countOf(table.name);
  let inserted: Promise<unknown> = Promise.resolve();
  for (let at = 0; at < count; at += BATCH) {
    const size = Math.min(BATCH, count - at);
    const documents = Array.from({ length: size }, (_, more) =>
      documentOf(table, catalog, at + more, records),
    );
    await inserted;
    // Not awaited yet: the next documents are made while the database takes these.
    inserted = collection.insertMany(documents, { ordered: false });
  }
  await inserted;
  await provisionTable(db, table);
}

/** The document that the service would write for the record; the same checks and codecs make it. */
export function documentOf(table: Table, catalog: Catalog, at: number, records: Records): Document {
  const { values, links, createdAt } = records.rowOf(table.name, at);
  const ids = Object.entries(links).map(([name, [other, position]]): [string, string] => [
    name,
    recordId(other, position, records).toHexString(),
  ]);
  const body = { ...values, ...Object.fromEntries(ids) };
  const own = ownFields(checkBody(body, table, catalog, { mayWrite: () => true }, "create"));
  return {
    _id: recordId(table.name, at, records),
    ...Object.fromEntries(own.set),
    createdAt,
    updatedAt: createdAt,
  };
}

/**
 * The one place for what the service keeps beside the values of a record and derives from other records, such as the
 * counts of counted relations. What derives from the record's own values belongs into `documentOf`.
 */
async function addDerived(db: Db, catalog: Catalog): Promise<void> {
  const counters = [...catalog.tables.values()].flatMap(ownCounters);
  for (const { column, parents, children } of counters) {
    const number = { $group: { _id: `$${children.field}`, [column.field]: { $sum: 1 } } };
    const into = { into: parents, on: "_id", whenMatched: "merge", whenNotMatched: "discard" } as const;
    const grouping = [{ $match: { [children.field]: { $ne: null } } }, number, { $merge: into }];
    await db.collection(children.collection).aggregate(grouping, { allowDiskUse: true }).toArray();
  }
}
