// Waits for a database that can't be reached yet, so that services may start before it.
import { setTimeout as pause } from "node:timers/promises";
import { isUnanswered, isUnsent } from "./driver-errors.js";

export interface Patience {
  /** How long to wait in all, from the first failure on: an attempt that fails may have been at work for long before. */
  readonly ms: number;
  /** Is told at once, and then now and then, what is wrong. */
  readonly tell: (problem: string) => void;
}

/** An attempt takes a while by itself (`serverSelectionTimeoutMS`), and looks every half second, but not where a name is unknown. */
const PAUSE_MS = 500;
const TELL_EVERY_MS = 10_000;

/**
 * Asks until the server is reached.
 * @param patience without it there is one attempt
 * @param inWords of a failure, for those who are told
 * @throws what an attempt has failed by, if that is something else, or when the time is over
 */
export async function whenReached<Result>(
  ask: () => Promise<Result>,
  patience: Patience | undefined,
  inWords: (error: unknown) => string,
): Promise<Result> {
  let failedAt: number | undefined;
  let told = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const now = performance.now();
      failedAt ??= now;
      if (patience === undefined || !mayComeYet(error) || now - failedAt >= patience.ms) throw error;
      if (now - told >= TELL_EVERY_MS) {
        patience.tell(inWords(error));
        told = now;
      }
    }
    await pause(PAUSE_MS);
  }
}

/** It may be on its way up or down as well. Not a user who is refused, nor an address that means nothing. */
function mayComeYet(error: unknown): boolean {
  return isUnanswered(error) || isUnsent(error) || isUnknownName(error);
}

/** The name in `mongodb+srv://` is looked up before the driver looks for servers. */
function isUnknownName(error: unknown): boolean {
  return (
    error instanceof Error && "syscall" in error && ["querySrv", "queryTxt"].includes(String(error.syscall))
  );
}
