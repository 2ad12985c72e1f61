// Acts on something that others may change at the same moment: again and again, until nobody interfered.
import { setTimeout as delay } from "node:timers/promises";
import { AppError, unavailable } from "@portico/shared/app-error";

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
    throw contended(table);
  };
}

function contended(table: string): AppError {
  return unavailable(`Others keep changing the same records of "${table}"; try again.`, 1);
}

/** The same refusal after one change by others, of what had been judged: what was written by then is taken back. */
export class Overtaken extends AppError {
  constructor(table: string) {
    const { code, messages, headers } = contended(table);
    super(code, { message: messages, headers });
  }
}

/** Takes an attempt that was overtaken for one that failed, as `untilStill` wants it; so many times, then it stays refused. */
export function unlessOvertaken(most: number): (error: unknown) => false {
  let left = most;
  return (error) => {
    if (!(error instanceof Overtaken) || left === 0) throw error;
    left -= 1;
    return false;
  };
}
