// Idempotency keys in `_once`: digests, and the ids of what was made and of its table. No body is kept.
import type { Collection, Db } from "mongodb";
import type { OnceEntry, OnceStore } from "../records/write/once.js";
import { unlessDuplicate } from "./driver-errors.js";

type OnceDocument = { -readonly [Key in keyof Omit<OnceEntry, "id">]: OnceEntry[Key] } & { _id: string };

function onceCollection(db: Db): Collection<OnceDocument> {
  return db.collection<OnceDocument>("_once");
}

export function makeOnceStore(db: Db): OnceStore & { sweep(now: Date): Promise<void> } {
  const entries = onceCollection(db);
  return {
    async insert({ id, ...rest }) {
      return (await entries.insertOne({ _id: id, ...rest }).catch(unlessDuplicate)) !== undefined;
    },
    async find(id) {
      const found = await entries.findOne({ _id: { $eq: id } });
      if (found === null) return undefined;
      const { _id, ...rest } = found;
      return { id: _id, ...rest };
    },
    async change(id, owner, change) {
      const { matchedCount } = await entries.updateOne({ _id: { $eq: id }, owner }, { $set: change });
      return matchedCount === 1;
    },
    async takeOver(id, owner, next) {
      const open = { _id: { $eq: id }, owner, done: { $ne: true } };
      return (await entries.updateOne(open, { $set: next })).matchedCount === 1;
    },
    async lapse() {
      await entries.updateMany({ done: { $ne: true } }, { $set: { leaseUntil: new Date(0) } });
    },
    async remove(id, owner) {
      await entries.deleteOne({ _id: { $eq: id }, owner });
    },
    async sweep(now) {
      await entries.deleteMany({ expiresAt: { $lte: now } });
    },
  };
}

/** Safe to repeat. */
export async function ensureOnceIndexes(db: Db): Promise<void> {
  await onceCollection(db).createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 });
}
