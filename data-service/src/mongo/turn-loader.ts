// Whatever is asked for in the same turn of the event loop -> one call for all of it. Many callers at once then cost the
// server one command, and a single one does not wait for others: the turn ends when everything that had arrived is handled.
import DataLoader from "dataloader";

/**
 * Nothing is remembered: what is asked for later is asked for anew.
 * @param load answers in the order in which things are asked for; an Error is only for its own caller
 * @param most how much one call may ask for
 */
export function turnLoader<Asked, Answer>(
  load: (asked: readonly Asked[]) => Promise<(Answer | Error)[]>,
  most: number,
): DataLoader<Asked, Answer> {
  const batchScheduleFn = (send: () => void): void => void setImmediate(send);
  return new DataLoader(load, { cache: false, maxBatchSize: most, batchScheduleFn });
}

/** What was thrown, for one caller. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
