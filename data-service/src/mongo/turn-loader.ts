// Whatever is asked for in the same turn of the event loop -> one call for all of it. Many callers at once then cost the
// server one command, and a single one does not wait for others: the turn ends when everything that had arrived is handled.
import DataLoader from "dataloader";
import { LRUCache } from "lru-cache";
import { getOrMake } from "../get-or-make.js";

/** How much one call may ask for. */
export const MOST_AT_ONCE = 100;
/** How many kinds of questions are remembered. */
const MOST_KINDS = 500;

const batchScheduleFn = (send: () => void): void => void setImmediate(send);

/** Nothing but the kinds is remembered: what is asked for later is asked for anew. */
export class TurnLoaders<Asked, Answer> {
  readonly #loaders = new LRUCache<string, DataLoader<Asked, Answer>>({ max: MOST_KINDS });

  /**
   * @param kind of what is asked for: only what is of one kind goes together
   * @param load answers in the order in which things are asked for; an Error is only for its own caller
   */
  of(
    kind: string,
    load: (asked: readonly Asked[]) => Promise<(Answer | Error)[]>,
  ): DataLoader<Asked, Answer> {
    const make = () => new DataLoader(load, { cache: false, maxBatchSize: MOST_AT_ONCE, batchScheduleFn });
    return getOrMake<string, DataLoader<Asked, Answer>>(this.#loaders, kind, make);
  }
}

/** What was thrown, for one caller. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
