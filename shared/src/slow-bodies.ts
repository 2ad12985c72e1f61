// Bodies that take long to arrive. They cost little, so they take no place of MAX_IN_FLIGHT, but their number is limited.
import type { Request, Response } from "express";
import { NetworkShares } from "./network-shares.js";

/** A body that has not arrived by then is slow: an upload, a poor line, or somebody who means harm. */
const SLOW_AFTER_MS = 2_000;

export class SlowBodies {
  readonly #shares: NetworkShares;
  readonly #slowAfterMs: number;

  /** @param most how many slow bodies may be arriving at once, at most half of them from one network */
  constructor(most: number, slowAfterMs = SLOW_AFTER_MS) {
    this.#shares = new NetworkShares(most);
    this.#slowAfterMs = slowAfterMs;
  }

  /**
   * Cuts the request if its body is slow and too many others are. Call it when the head of a request with a body is here.
   * @param onCut called where it is cut
   */
  watch(request: Request, response: Response, onCut: () => void): void {
    const { ip } = request;
    const timer = setTimeout(() => {
      // It has arrived, but nobody has read it yet.
      if (request.complete) return;
      const giveBack = this.#shares.take(ip);
      if (giveBack !== undefined) return onceOver(request, response, giveBack);
      request.destroy();
      onCut();
    }, this.#slowAfterMs).unref();
    onceOver(request, response, () => clearTimeout(timer));
  }
}

/** Acts once, when the body has arrived or nobody waits for it any more. */
function onceOver(request: Request, response: Response, act: () => void): void {
  const over = (): void => {
    request.off("end", over);
    response.off("close", over);
    act();
  };
  request.once("end", over);
  response.once("close", over);
}
