// Fills an empty database with the demo content; an interrupted filling is completed at the next start.
import { hash } from "node:crypto";
import type { Json } from "@portico/shared/json";
import { ObjectId } from "bson";
import type { Collection, Db } from "mongodb";
import { type Catalog, ownCounters, type Table } from "../catalog/catalog.js";
import { emptyGrams } from "../catalog/grams.js";
import { systemTableNames } from "../catalog/system-tables.js";
import { getOrMake } from "../get-or-make.js";
import type { CountStore } from "../mongo/count-store.js";
import type { RecordStore } from "../mongo/record-store.js";
import type { Document } from "../query/lower/document.js";
import { checkBody } from "../records/body/check-body.js";
import { ownFields } from "../records/body/write-plan.js";
import { findTable } from "../records/find-table.js";
import { createTable, type SchemaDeps } from "../schema/create-table.js";
import { type DemoRecord, demoRecords } from "./demo-records.js";
import { DEMO_ROLES, demoRules } from "./demo-rules.js";
import { demoTables } from "./demo-tables.js";

interface Marker {
  _id: string;
  state: "filling" | "done";
}

export interface SeedDeps extends SchemaDeps {
  readonly db: Db;
  readonly store: RecordStore;
  readonly counts: Pick<CountStore, "countAllAlone">;
}

/** Once without demo content, always: an app of one's own may have users and files long before its first table. */
export async function declineDemo(db: Db): Promise<void> {
  await markersOf(db).updateOne({ _id: "demo" }, { $set: { state: "done" } }, { upsert: true });
}

function markersOf(db: Db): Collection<Marker> {
  return db.collection("_markers");
}

/** @returns whether anything was written */
export async function seedDemo(deps: SeedDeps): Promise<boolean> {
  const markers = markersOf(deps.db);
  const marker = await markers.findOne({ _id: "demo" });
  const catalog = await deps.catalogs.refresh();
  const empty = [...catalog.tables.values()].every((table) => table.system);
  if (marker?.state !== "filling" && !empty) return false;
  if (marker?.state === "done") return false;
  await markers.updateOne({ _id: "demo" }, { $set: { state: "filling" } }, { upsert: true });
  await makeTables(deps, catalog);
  const made = await deps.catalogs.refresh();
  await Promise.all([insertRecords(deps, made), insertRules(deps, made)]);
  const counters = [...made.tables.values()].flatMap(ownCounters);
  await Promise.all(counters.map((counter) => deps.counts.countAllAlone(counter)));
  await markers.updateOne({ _id: "demo" }, { $set: { state: "done" } });
  return true;
}

async function makeTables(deps: SeedDeps, catalog: Catalog): Promise<void> {
  for (const table of demoTables) {
    if (catalog.tables.has(table.name)) continue;
    const definition: Json = JSON.parse(JSON.stringify(table));
    await createTable(deps, definition);
  }
}

async function insertRecords(deps: SeedDeps, catalog: Catalog): Promise<void> {
  const documents = [...demoDocuments(catalog)];
  await Promise.all(documents.map(([table, all]) => deps.store.insertMissing(table, all)));
}

function demoDocuments(catalog: Catalog): Map<Table, Document[]> {
  const ids = new Map<string, string>();
  const documents = new Map<Table, Document[]>();
  for (const record of demoRecords()) {
    const table = findTable(catalog, record.table);
    const id = demoId(record);
    ids.set(record.key, id.toHexString());
    getOrMake(documents, table, () => []).push(toDocument(record, id, table, catalog, ids));
  }
  return documents;
}

async function insertRules({ store, systemTablePrefix, clock }: SeedDeps, catalog: Catalog): Promise<void> {
  const names = systemTableNames(systemTablePrefix);
  const now = clock.now();
  const times = { createdAt: now, updatedAt: now };
  const roles = DEMO_ROLES.map((role): Document => ({ _id: idFrom(`role ${role.name}`), ...role, ...times }));
  await store.insertMissing(findTable(catalog, names.roles), roles);
  const rules = demoRules.map(({ role, ...rule }): Document => {
    const holder = role === null ? {} : { roleId: idFrom(`role ${role}`) };
    const id = idFrom(`rule ${role} ${rule.table} ${rule.action}`);
    return { _id: id, ...rule, ...holder, isEnabled: true, ...times };
  });
  await store.insertMissing(findTable(catalog, names.permissions), rules);
}

function idFrom(text: string): ObjectId {
  return ObjectId.createFromHexString(hash("sha256", text, "hex").slice(0, 24));
}

/** Ids that are the same in every demo: the time of creation, then a hash of the key. */
function demoId({ key, createdAt }: DemoRecord): ObjectId {
  const seconds = Math.floor(Date.parse(createdAt) / 1000).toString(16);
  return ObjectId.createFromHexString(seconds.padStart(8, "0") + hash("sha256", key, "hex").slice(0, 16));
}

/** Demo records pass the same checks as anybody's. */
function toDocument(
  record: DemoRecord,
  id: ObjectId,
  table: Table,
  catalog: Catalog,
  ids: ReadonlyMap<string, string>,
): Document {
  const idOf = (key: string): Json => ids.get(key) ?? null;
  const links = Object.entries(record.links).map(([name, keys]): [string, Json] => [
    name,
    keys === null ? null : typeof keys === "string" ? idOf(keys) : keys.map(idOf),
  ]);
  const body: Json = { ...record.values, ...Object.fromEntries(links) };
  const own = ownFields(checkBody(body, table, catalog, { mayWrite: () => true }, "create"));
  const createdAt = new Date(record.createdAt);
  const values = { ...emptyGrams(table.columns.values()), ...Object.fromEntries(own.set) };
  return { _id: id, ...values, createdAt, updatedAt: createdAt };
}
