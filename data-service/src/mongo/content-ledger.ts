// Which contents are the bytes of a file or of a picture made from it, and which are being added or removed.
import { type Collection, type Db, ObjectId } from "mongodb";
import { CONTENT_KEY } from "../catalog/own-fields.js";
import type { Stored } from "../catalog/stored.js";
import { LONGEST_LEASE_SECONDS } from "../files/longest-lease.js";
import { hasLapsed } from "./lapsed-lease.js";

/** A content that no record may name yet, or any more. Whoever works on it renews its lease. */
interface PendingDocument {
  readonly _id: string;
  readonly leaseUntil: Date;
  /** Who works on it, each under a separate name: the note stays until the last of them has finished. */
  readonly by?: readonly string[];
  /** Who has left last, since anybody began: whoever else works on it has to look what became of it. */
  readonly left?: string;
  /**
   * A sweep has given up whoever worked on it: no record may begin to name it, except in a write that is already under way.
   */
  readonly taken?: boolean;
}

/** A transformed picture. */
export interface Variant {
  /** The content it was made from. */
  readonly content: string;
  /** How it was made: see image-parameters. */
  readonly name: string;
  /** Its own content. */
  readonly key: string;
  readonly mimetype: string;
  readonly size: number;
}

interface VariantDocument extends Omit<Variant, "name"> {
  readonly _id: { readonly content: string; readonly name: string };
  readonly createdAt: Date;
}

interface FileDocument {
  readonly _id: ObjectId;
  readonly [CONTENT_KEY]?: string;
}

export type ContentLedger = ReturnType<typeof makeContentLedger>;

/** @param fileCollection the collection with the records of files */
export function makeContentLedger(db: Db, fileCollection: string) {
  const pending = db.collection<PendingDocument>("_content_pending");
  const variants = variantCollection(db);
  const files = db.collection<FileDocument>(fileCollection);
  return {
    /** Notes that the fate of these contents is undecided. A sweep that decides meanwhile leaves the note. */
    async open(keys: readonly string[], by: string, leaseUntil: Date): Promise<void> {
      const update = {
        $set: { leaseUntil },
        $addToSet: { by },
        $unset: { taken: true, left: true },
      } as const;
      const notes = keys.map((_id) => ({ updateOne: { filter: { _id }, update, upsert: true } }));
      if (notes.length > 0) await pending.bulkWrite(notes, { ordered: false });
    },
    /** @returns how many are still ours */
    async renew(keys: readonly string[], leaseUntil: Date): Promise<number> {
      const ours = { _id: { $in: [...keys] }, taken: { $ne: true } };
      return (await pending.updateMany(ours, { $set: { leaseUntil } })).matchedCount;
    },
    /** A record names it, or it was removed. @returns false, with the note as it was, when others work or relied on it */
    async close(key: string, by: string): Promise<boolean> {
      const alone = { _id: key, by: [by], left: { $exists: false } };
      return (await pending.deleteOne(alone)).deletedCount === 1;
    },
    /**
     * This work is done. Where a sweep has closed the note meanwhile, there is one again.
     * @returns whether it was the last, which then decides
     */
    async leave(key: string, by: string, leaseUntil: Date): Promise<boolean> {
      const note = await pending.findOneAndUpdate(
        { _id: key },
        { $pull: { by }, $set: { left: by }, $setOnInsert: { leaseUntil } },
        { upsert: true, returnDocument: "after" },
      );
      return (note?.by ?? []).length === 0;
    },
    /** Has nobody begun to work on it since this one was to decide? @param by the last who left; undefined: a sweep */
    async isUpTo(key: string, by: string | undefined): Promise<boolean> {
      return (await pending.findOne(upTo(key, by), { projection: { _id: 1 } })) !== null;
    },
    /** It is decided, unless somebody has begun to work on it. @param by as for `isUpTo` */
    async closeDecided(key: string, by: string | undefined): Promise<void> {
      await pending.deleteOne(upTo(key, by));
    },
    /** One whose lease has run out; the first to ask gets it. @returns whether it had been taken before */
    async take(now: Date, leaseUntil: Date): Promise<{ key: string; again: boolean } | undefined> {
      const lapsed = hasLapsed("leaseUntil", now, LONGEST_LEASE_SECONDS * 1_000);
      const found = await pending.findOneAndUpdate(lapsed, { $set: { leaseUntil, taken: true } });
      return found === null ? undefined : { key: found._id, again: found.taken === true };
    },
    /** There is no other process: whatever is undecided was left by one that is gone. */
    async lapse(): Promise<void> {
      await pending.updateMany({}, { $set: { leaseUntil: new Date(0), taken: true } });
    },
    /** Does a file or a variant have this content? */
    async isNamed(key: string): Promise<boolean> {
      const [file, variant] = await Promise.all([
        files.findOne({ [CONTENT_KEY]: key }, { projection: { _id: 1 } }),
        variants.findOne({ key }, { projection: { _id: 1 } }),
      ]);
      return file !== null || variant !== null;
    },
    /** The contents of those of these files that exist. @param ids as they are stored */
    async keysOf(ids: readonly Stored[]): Promise<string[]> {
      const chosen = ids.map((id) => ObjectId.createFromHexString(String(id)));
      const found = await files
        .find({ _id: { $in: chosen } }, { projection: { [CONTENT_KEY]: 1 } })
        .toArray();
      return found.flatMap(({ [CONTENT_KEY]: key }) => key ?? []);
    },
    async findVariant(content: string, name: string): Promise<Variant | undefined> {
      const found = await variants.findOne({ _id: { content, name } });
      return found === null ? undefined : toVariant(found);
    },
    /** @returns false when there already is one */
    async addVariant({ content, name, key, mimetype, size }: Variant, createdAt: Date): Promise<boolean> {
      const result = await variants.updateOne(
        { _id: { content, name } },
        { $setOnInsert: { content, key, mimetype, size, createdAt } },
        { upsert: true },
      );
      return result.upsertedCount === 1;
    },
    /** The newest first. */
    async variantsOf(content: string): Promise<Variant[]> {
      const found = await variants.find({ content }).sort({ createdAt: -1 }).toArray();
      return found.map(toVariant);
    },
    async removeVariant({ content, name, key }: Variant): Promise<void> {
      await variants.deleteOne({ _id: { content, name }, key });
    },
  };
}

function upTo(key: string, by: string | undefined) {
  return by === undefined ? { _id: key, taken: true } : { _id: key, left: by };
}

function variantCollection(db: Db): Collection<VariantDocument> {
  return db.collection("_content_variants");
}

function toVariant({ _id: { content, name }, key, mimetype, size }: VariantDocument): Variant {
  return { content, name, key, mimetype, size };
}

/** Safe to repeat. */
export async function ensureContentIndexes(db: Db, fileCollection: string): Promise<void> {
  await Promise.all([
    db.collection("_content_pending").createIndex({ leaseUntil: 1 }),
    variantCollection(db).createIndexes([{ key: { content: 1, createdAt: -1 } }, { key: { key: 1 } }]),
    db
      .collection(fileCollection)
      .createIndex({ [CONTENT_KEY]: 1 }, { partialFilterExpression: { [CONTENT_KEY]: { $exists: true } } }),
  ]);
}
