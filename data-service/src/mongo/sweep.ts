// Deletes what has expired: the embedded engine does not do this by itself, and elsewhere it does no harm.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";

const EVERY_MS = 10 * 60_000;

/** Sweeps now and every ten minutes. @returns stops it */
export function sweepRegularly(
  sweeps: readonly ((now: Date) => Promise<unknown>)[],
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): () => void {
  let isEnded = false;
  const sweepAll = (): void => {
    for (const sweep of sweeps) {
      // Everything that is swept is checked for expiry wherever it is read, so a failure costs only space. A sweep that runs
      // during a stop finds the database closed.
      sweep(clock.now()).catch((err: unknown) => isEnded || logger.warn({ err }, "sweep failed"));
    }
  };
  sweepAll();
  const timer = setInterval(sweepAll, EVERY_MS);
  timer.unref();
  return () => {
    isEnded = true;
    clearInterval(timer);
  };
}
