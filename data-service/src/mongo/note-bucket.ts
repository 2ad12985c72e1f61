// Whether files may lie in a bucket is kept in `_markers`: without its settings nobody can read or remove them.
import type { Db } from "mongodb";
import { unlessDuplicate } from "./driver-errors.js";

interface BucketMarker {
  _id: string;
  bucket: string;
}

const MARKER = { _id: "bucket" };

/**
 * To be called at each start.
 * @param bucket the name of the one that is configured
 * @returns without one: the name of the last that was
 */
export async function noteBucket(db: Db, bucket: string | undefined): Promise<string | undefined> {
  const markers = db.collection<BucketMarker>("_markers");
  if (bucket === undefined) return (await markers.findOne(MARKER))?.bucket;
  // Another instance may have just noted it.
  await markers.updateOne(MARKER, { $set: { bucket } }, { upsert: true }).catch(unlessDuplicate);
  return undefined;
}
