// What one request may ask of the database: a few questions at once, for as long as a query may take, and while its client
// waits for the answer.
import type { Share } from "../../caller-shares.js";
import type { ReadLimits } from "../../mongo/read-limits.js";
import { Stop } from "../../stop.js";
import { tookTooLong } from "../../store-refusals.js";
import { makeTurns } from "../../turns.js";

/** Of the connections that all requests share. */
const AT_ONCE = 4;

/**
 * Waits for an answer that others may be waiting for as well: who has no more time, or no client, leaves it to them.
 * @throws AppError QUERY_TIMEOUT
 */
export function whileWanted<Answer>(
  { maxTimeMS, signal }: ReadLimits,
  answer: Promise<Answer>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason);
    const timer = setTimeout(() => reject(tookTooLong()), maxTimeMS);
    signal.addEventListener("abort", leave);
    answer.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    });
  });
}

export class Effort {
  readonly #until: number;
  readonly #stop: Stop;
  readonly #share: Share;
  readonly #inTurn = makeTurns({
    atOnce: AT_ONCE,
    mostWaiting: Number.POSITIVE_INFINITY,
    refusal: tookTooLong,
  });

  /**
   * @param timeoutMs QUERY_TIMEOUT_MS, for all questions together
   * @param stop is aborted by whoever sees that nobody waits for the answer any more, and here when a question fails
   * @param share of the caller; without it, questions wait for none but those of this request
   */
  constructor(timeoutMs: number, stop = new Stop(), share: Share = (question) => question()) {
    this.#until = performance.now() + timeoutMs;
    this.#stop = stop;
    this.#share = share;
  }

  /**
   * Asks as soon as it has a turn, if there is time left by then. When one question fails, those under way are broken off
   * and no more are asked.
   * @throws AppError QUERY_TIMEOUT, and SERVICE_UNAVAILABLE where the caller has too many others under way
   */
  async ask<Answer>(question: (limits: ReadLimits) => Promise<Answer>): Promise<Answer> {
    const signal = this.#stop;
    const asked = async (): Promise<Answer> => question(this.#limits());
    return this.#inTurn(async () => {
      try {
        return await this.#share(asked, this.#limits());
      } catch (error) {
        signal.abort(error);
        throw error;
      }
    });
  }

  /** @throws AppError QUERY_TIMEOUT when no time is left, or why nothing more is asked */
  #limits(): ReadLimits {
    this.#stop.throwIfAborted();
    const left = Math.ceil(this.#until - performance.now());
    if (left <= 0) throw tookTooLong();
    return { maxTimeMS: left, signal: this.#stop };
  }
}
