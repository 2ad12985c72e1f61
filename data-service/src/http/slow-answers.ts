// Answers that their clients are slow to take. What is left of them is held meanwhile, so there is a limit to how much is
// held for all of them together.
import { breakOff } from "@portico/shared/break-off";
import { NetworkShares } from "@portico/shared/network-shares";
import type { Response } from "express";

/** Whoever has not taken an answer by then, after it had to wait for them, is a poor line, or somebody who means harm. */
const SLOW_AFTER_MS = 2_000;
const MOST_BYTES = 512 * 1024 * 1024;

export class SlowAnswers {
  /** Of the bytes that are held. */
  readonly #shares: NetworkShares;
  readonly #slowAfterMs: number;

  /** @param mostBytes how much may be held at once, half of it for one network */
  constructor(mostBytes = MOST_BYTES, slowAfterMs = SLOW_AFTER_MS) {
    this.#shares = new NetworkShares(mostBytes);
    this.#slowAfterMs = slowAfterMs;
  }

  /**
   * Cuts the answer when it is slow and too much is held. Call it when the answer has to wait for its client.
   * @param bytesOf how much is held for it; asked when it is slow
   * @param afterMs of waiting it is slow
   * @returns ends it before the answer does: the client has taken what was held; returns how much of that time is left
   */
  watch(response: Response, bytesOf: () => number, afterMs = this.#slowAfterMs): () => number {
    const began = performance.now();
    let giveBack = (): void => {};
    const timer = setTimeout(() => {
      const taken = this.#shares.take(response.req.ip, bytesOf());
      if (taken === undefined) breakOff(response);
      else giveBack = taken;
    }, afterMs).unref();
    const end = (): number => {
      clearTimeout(timer);
      giveBack();
      giveBack = () => {};
      response.off("close", end);
      return Math.max(0, afterMs - (performance.now() - began));
    };
    response.once("close", end);
    return end;
  }
}

/** Those of this process. */
export const slowAnswers = new SlowAnswers();
