// The notes that dead processes leave of requests that write more than once (docs/decisions/017-whole-requests.md).
import type { Db } from "mongodb";

/**
 * How many are not worked off. One that was is kept for two minutes where several processes share a database, and looked at
 * once more.
 */
export function unfinishedIn(db: Db): Promise<number> {
  return db.collection("_unfinished").countDocuments({ done: { $ne: true }, again: { $ne: true } });
}
