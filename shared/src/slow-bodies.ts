// Bodies that are long in coming: they cost little, so they take no place of MAX_IN_FLIGHT, but not everybody may send many.
import type { Request, Response } from "express";
import { networkOf } from "./network-of.js";

/** A body that has not come by then is a slow one: an upload, a poor line, or somebody who means harm. */
const SLOW_AFTER_MS = 2_000;

export class SlowBodies {
  readonly #most: number;
  readonly #slowAfterMs: number;
  /** How many are coming, by the network of their sender. */
  readonly #coming = new Map<string, number>();
  #all = 0;

  /** @param most how many slow bodies may be coming at once, half of them from one network; 0 = any number */
  constructor(most: number, slowAfterMs = SLOW_AFTER_MS) {
    this.#most = most;
    this.#slowAfterMs = slowAfterMs;
  }

  /** Cuts the request when its body is slow and too many are. Call it when the head of a request with a body has come. */
  watch(request: Request, response: Response): void {
    if (this.#most === 0) return;
    const network = networkOf(request.ip ?? null);
    const timer = setTimeout(() => {
      // It has come; only nobody has read it yet.
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

/** Acts once, when the body has come or is no longer waited for. */
function onceOver(request: Request, response: Response, act: () => void): void {
  const over = (): void => {
    request.off("end", over);
    response.off("close", over);
    act();
  };
  request.once("end", over);
  response.once("close", over);
}
