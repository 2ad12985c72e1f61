// How the embedded engine works otherwise than a server does by default.
import { MongoClient } from "mongodb";

/** How many commands the engine runs at once; others wait, whatever they are. Its package can't be told another number. */
export const ENGINE_AT_ONCE = 8;

/** Parameters set differently from the server's defaults. */
const PARAMETERS: readonly Readonly<Record<string, string>>[] = [
  // When none of several plans has found anything at the end of its trial, this server version would rank them by sampling,
  // and this build lacks that part: the query would fail. Without it the trial decides, as in all former versions.
  { internalQueryPlanRanker: "multiPlanning" },
  // Changed pages stay in the cache until they fill three fifths of it or the next checkpoint comes, after a minute at most,
  // instead of being written again and again from a twentieth on. The journal has the changes, so nothing is less safe; a
  // write to an index of many small entries (`searchable`) costs a fifth.
  { wiredTigerEngineRuntimeConfig: "eviction_dirty_target=60,eviction_dirty_trigger=75" },
  // Every collection and index is an open file until nobody has used it for ten minutes, even one that was dropped. At the
  // system's limit the engine aborts its process.
  {
    wiredTigerEngineRuntimeConfig:
      "file_manager=(close_idle_time=30,close_scan_interval=10,close_handle_minimum=250)",
  },
];

/** @param uri of an engine that has just been opened */
export async function setParameters(uri: string): Promise<void> {
  const client = new MongoClient(uri);
  try {
    for (const parameter of PARAMETERS) await client.db("admin").command({ setParameter: 1, ...parameter });
  } finally {
    await client.close();
  }
}
