// The life of a service process: start, say so, stop cleanly on a signal, report bad settings clearly.
import { ConfigError } from "./env.js";
import { tellLauncher } from "./launcher-messages.js";

export interface Service {
  url: string;
  /** Finishes what is in flight and releases everything. */
  stop(): Promise<void>;
}

/** Runs a service until SIGTERM, SIGINT or the launcher's end. Settings problems are printed one a line. */
export async function runService(start: () => Promise<Service>): Promise<void> {
  // A launcher that was killed must not leave us behind, not even while we start.
  const abandon = (): never => process.exit(1);
  process.once("disconnect", abandon);
  try {
    const service = await start();
    process.off("disconnect", abandon);
    stopOnSignal(service);
    tellLauncher({ type: "ready", url: service.url });
  } catch (error) {
    refuseToStart(error);
  }
}

function stopOnSignal(service: Service): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    service.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("disconnect", stop);
}

function refuseToStart(error: unknown): void {
  const problems = error instanceof ConfigError ? error.problems : [startFailure(error)];
  tellLauncher({ type: "refused", problems }, problems.join("\n"));
  process.exitCode = 1;
  // Otherwise the channel to the launcher would keep the process alive though it has nothing left to do.
  setImmediate(() => process.exit(1));
}

function startFailure(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
