// Copies what the latest number of the catalog puts into use into `svc_table`.
import { type Collection, ObjectId } from "mongodb";
import { VERSION_FIELD } from "../catalog/own-fields.js";
import type { CatalogCollections, TableDocument } from "./catalog-documents.js";

/** Everybody may do it, and doing it twice changes nothing. */
export async function settle(collections: CatalogCollections): Promise<void> {
  const { versions, told, making } = collections;
  const state = await told.findOne({ _id: "catalog" });
  if (state?.latest === undefined) return;
  const { latest, version } = state;
  if ("change" in latest) {
    await settleChange(collections, latest.change, version);
    await versions.updateOne({ _id: "catalog", "latest.change": latest.change }, { $unset: { latest: "" } });
    return;
  }
  await settleNew(collections, latest.id, latest.name);
  await versions.updateOne({ _id: "catalog", "latest.id": latest.id }, { $unset: { latest: "" } });
  await making.deleteOne({ _id: latest.name, "table._id": latest.id });
}

async function settleNew(
  { tables, making, changes }: CatalogCollections,
  id: ObjectId,
  name: string,
): Promise<void> {
  const reserved = await making.findOne({ _id: name, "table._id": id });
  if (reserved === null) return;
  const { _id, ...definition } = reserved.table;
  await makeRoom(tables, definition.name);
  const { upsertedCount } = await tables.updateOne({ _id }, { $setOnInsert: definition }, { upsert: true });
  // A slow process may come after the table was deleted again.
  if (upsertedCount === 1 && (await isRemoved(changes, id, null))) await tables.deleteOne({ _id });
}

/** @param undoes the change that is being undone, which has removed it as well */
async function isRemoved(
  changes: CatalogCollections["changes"],
  table: ObjectId,
  undoes: string | null,
): Promise<boolean> {
  const others = undoes === null ? {} : { _id: { $ne: ObjectId.createFromHexString(undoes) } };
  const removal = { removed: table.toHexString(), state: { $ne: "undone" as const }, ...others };
  return (await changes.findOne(removal, { projection: { _id: 1 } })) !== null;
}

/** Replaces earlier definitions; a slow instance never puts an older one in place of a newer. */
async function settleChange(
  { tables, changes }: CatalogCollections,
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
    if (matchedCount > 0 || !isBack) continue;
    const back = { ...now, createdAt: _id.getTimestamp() };
    const { upsertedCount } = await tables.updateOne({ _id }, { $setOnInsert: back }, { upsert: true });
    // As above.
    if (upsertedCount === 1 && (await isRemoved(changes, _id, change.undoes)))
      await tables.deleteOne({ _id });
  }
  const gone = change.removed.map((table) => ObjectId.createFromHexString(table));
  await tables.deleteMany({ _id: { $in: gone }, ...older });
}

/** Every definition says where its data is; anything else in the collection is not a table. */
export const IS_DEFINITION = { "storage.collection": { $exists: true } } as const;

/** Something that is not a definition must not keep a name from a table: names are unique. */
async function makeRoom(tables: Collection<TableDocument>, name: string): Promise<void> {
  await tables.deleteMany({ name, $nor: [IS_DEFINITION] });
}
