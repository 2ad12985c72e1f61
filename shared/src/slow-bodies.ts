// Bodies that take long to arrive. They cost little, so they take no place of MAX_IN_FLIGHT, but their number is limited.
import type { Request, Response } from "express";
import { networkOf } from "./network-of.js";

/** A body that has not arrived by then is slow: an upload, a poor line, or somebody who means harm. */
const SLOW_AFTER_MS = 2_000;

export class SlowBodies {
  readonly #most: number;
  readonly #slowAfterMs: number;
  /** How many are arriving, by their sender's network. */
  readonly #coming = new Map<string, number>();
  #all = 0;

  /** @param most how many slow bodies may be arriving at once, at most half of them from one network; 0 = any number */
  constructor(most: number, slowAfterMs = SLOW_AFTER_MS) {
    this.#most = most;
    this.#slowAfterMs = slowAfterMs;
  }

  /** Cuts the request if its body is slow and too many others are. Call it when the head of a request with a body is here. */
  watch(request: Request, response: Response): void {
    if (this.#most === 0) return;
    const network = networkOf(request.ip ?? null);
    const timer = setTimeout(() => {
      // It has arrived, but nobody has read it yet.
      if (request.complete) return;
      if (this.#isTooMany(network)) return void request.destroy();
      this.#count(network, 1);
      onceOver(request, response, () => this.#count(network, -1));
    }, this.#slowAfterMs).unref();
    onceOver(request, response, () => clearTimeout(timer));
  }

  #isTooMany(network: string): boolean {
    return this.#all >= this.#most || (this.#coming.get(network) ?? 0) >= Math.ceil(this.#most / 2);
  }

  #count(network: string, change: 1 | -1): void {
    this.#all += change;
    const count = (this.#coming.get(network) ?? 0) + change;
    if (count > 0) this.#coming.set(network, count);
    else this.#coming.delete(network);
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
