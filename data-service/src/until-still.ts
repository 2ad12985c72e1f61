// Acts on something that others may change at the same moment: again and again, until nobody interfered.
import { setTimeout as delay } from "node:timers/promises";
import { unavailable } from "@portico/shared/app-error";

export interface Attempts<Late> {
  readonly attempts: number;
  /** How long to let others go first after a failed attempt. */
  readonly pauseMs?: number;
  /** Throws the refusal, or returns the result for when every attempt failed. */
  readonly gaveUp: () => Late;
}

/** @param act returns false when somebody interfered */
export async function untilStill<Result, Late = never>(
  act: () => Promise<Result | false>,
  { attempts, pauseMs, gaveUp }: Attempts<Late>,
): Promise<Result | Late> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const result = await act();
    if (result !== false) return result;
    if (pauseMs !== undefined) await delay(pauseMs);
  }
  return gaveUp();
}

/** Refuses with 503: part of what was asked may be done, and a 409 would say that nothing is. */
export function refuseContended(table: string): () => never {
  return () => {
    throw unavailable(`Others keep changing the same records of "${table}"; try again.`, 1);
  };
}
