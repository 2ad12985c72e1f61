// The life of a service process: start, say so, stop cleanly on a signal, report bad settings clearly.
import { ConfigError } from "./env.js";
import { isLaunched, tellLauncher } from "./launcher-messages.js";
import { loggedError } from "./logged-error.js";

export interface Service {
  url: string;
  /** Finishes what is in flight and releases everything. */
  stop(): Promise<void>;
}

/**
 * What is to be done before a process ends that has not started yet, once there is something to let go of. Said anew, it takes
 * the place of what was said before.
 */
export type WhenStopped = (release: () => Promise<void>) => void;

/** Runs a service until SIGTERM, SIGINT or the launcher's end. Settings problems are printed one a line. */
export async function runService(start: (whenStopped: WhenStopped) => Promise<Service>): Promise<void> {
  // There is nothing to finish yet. The first process of a container takes no signal that it does not listen to, and a
  // launcher that was killed must not leave us behind.
  let stop = async (): Promise<void> => {};
  let isStarting = true;
  let isStopping = false;
  whenAskedToStop(() => {
    if (isStopping) return;
    isStopping = true;
    // Nothing of clients is in flight. The launcher passes on no second signal, but kills.
    if (isStarting && !isLaunched()) onSignal(() => process.exit(1));
    endAfter(stop());
  });
  // Its channel was closed while our code was still loading.
  if (isLaunched() && !process.connected) process.exit(0);
  try {
    const service = await start((release) => {
      stop = release;
    });
    stop = () => service.stop();
    isStarting = false;
    tellLauncher({ type: "ready", url: service.url });
  } catch (error) {
    // What was let go of under it is no reason to refuse.
    if (!isStopping) refuseToStart(error);
  }
}

const STOP_SIGNALS = ["SIGTERM", "SIGINT"] as const;

function whenAskedToStop(act: () => void): void {
  onSignal(act);
  process.on("disconnect", act);
}

function onSignal(act: () => void): void {
  for (const signal of STOP_SIGNALS) process.on(signal, act);
}

function endAfter(stopped: Promise<void>): void {
  stopped.then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`The service did not stop cleanly: ${textOf(error)}\n`);
      process.exit(1);
    },
  );
}

function refuseToStart(error: unknown): void {
  const problems = error instanceof ConfigError ? error.problems : [textOf(error)];
  tellLauncher({ type: "refused", problems }, problems.join("\n"));
  process.exitCode = 1;
  // Otherwise the channel to the launcher would keep the process alive though it has nothing left to do.
  setImmediate(() => process.exit(1));
}

/** Not as it stands: a database quotes what somebody has stored. */
function textOf(error: unknown): string {
  const { stack, message } = loggedError(error);
  return stack ?? message;
}
