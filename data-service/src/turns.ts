// Lets a few tasks run at once and some wait for their turn; when too many wait, further ones are refused.
import type { AppError } from "@portico/shared/app-error";

export interface TurnLimits {
  /** How many tasks run at the same time. */
  readonly atOnce: number;
  /** How many more may wait. */
  readonly mostWaiting: number;
  /** A task that has not begun after this time is refused as well. Without it, tasks wait as long as it takes. */
  readonly maxWaitMs?: number;
  /** The refusal for a task. */
  readonly refusal: () => AppError;
}

/** Runs a task when it is its turn. @throws AppError the refusal */
export type InTurn = <Result>(task: () => Promise<Result>) => Promise<Result>;

export function makeTurns({ atOnce, mostWaiting, maxWaitMs, refusal }: TurnLimits): InTurn {
  /** In the order they came. */
  const waiting = new Set<() => void>();
  let running = 0;
  const turn = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(late);
        waiting.delete(begin);
        resolve();
      };
      const giveUp = (): void => {
        waiting.delete(begin);
        reject(refusal());
      };
      const late = maxWaitMs === undefined ? undefined : setTimeout(giveUp, maxWaitMs);
      waiting.add(begin);
    });
  return async (task) => {
    if (running < atOnce) running += 1;
    else if (waiting.size >= mostWaiting) throw refusal();
    // A finished task hands its place on, so `running` stays as it is.
    else await turn();
    try {
      return await task();
    } finally {
      const [next] = waiting;
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
