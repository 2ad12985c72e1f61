// Answers whose clients take long to read them. They keep nobody waiting, so they lose their place of MAX_IN_FLIGHT, but their
// number is limited.
import type { Response } from "express";
import { breakOff } from "./break-off.js";
import { NetworkShares } from "./network-shares.js";

/** An answer that waits for its client by then is a large file, a poor line, or for somebody who means harm. */
const SLOW_AFTER_MS = 2_000;

export class SlowReaders {
  readonly #shares: NetworkShares;
  readonly #slowAfterMs: number;

  /** @param most how many answers may wait for their clients at once, half of them for one network */
  constructor(most: number, slowAfterMs = SLOW_AFTER_MS) {
    this.#shares = new NetworkShares(most);
    this.#slowAfterMs = slowAfterMs;
  }

  /**
   * Cuts the client if it is slow and too many others are. Call it when the answer has begun.
   * @param onSlow called when it is counted among the slow ones
   * @param onCut called instead where it is cut
   */
  watch(response: Response, onSlow: () => void, onCut: () => void): void {
    let giveBack = (): void => {};
    const look = setInterval(() => {
      // We may be the slow ones; not of an answer that is ready and waits behind another on its connection.
      if (response.writableLength === 0) return;
      clearInterval(look);
      const taken = this.#shares.take(response.req.ip);
      if (taken === undefined) {
        breakOff(response);
        // That one has no connection yet which it could close.
        response.req.socket.destroy();
        return onCut();
      }
      giveBack = taken;
      onSlow();
    }, this.#slowAfterMs).unref();
    response.once("close", () => {
      clearInterval(look);
      giveBack();
    });
  }
}
