// Answers that their clients are slow to take. What is left of them is held meanwhile, so there is a limit to how much is
// held for all of them together.
import { networkOf } from "@portico/shared/network-of";
import type { Response } from "express";

/** Whoever has not taken an answer by then, after it had to wait for them, is a poor line, or somebody who means harm. */
const SLOW_AFTER_MS = 2_000;
const MOST_BYTES = 512 * 1024 * 1024;

export class SlowAnswers {
  readonly #mostBytes: number;
  readonly #slowAfterMs: number;
  /** How many bytes are held, by the network of who takes them. */
  readonly #held = new Map<string, number>();
  #all = 0;

  /** @param mostBytes how much may be held at once, half of it for one network */
  constructor(mostBytes = MOST_BYTES, slowAfterMs = SLOW_AFTER_MS) {
    this.#mostBytes = mostBytes;
    this.#slowAfterMs = slowAfterMs;
  }

  /**
   * Cuts the answer when it is slow and too much is held. Call it when the answer has to wait for its client.
   * @param bytesOf how much is held for it; asked when it is slow
   * @returns ends it before the answer does: the client has taken what was held
   */
  watch(response: Response, bytesOf: () => number): () => void {
    let giveBack = (): void => {};
    const timer = setTimeout(() => {
      const network = networkOf(response.req.ip ?? null);
      const bytes = bytesOf();
      if (this.#isTooMuch(network, bytes)) return void response.destroy();
      this.#count(network, bytes);
      giveBack = () => this.#count(network, -bytes);
    }, this.#slowAfterMs).unref();
    const end = (): void => {
      clearTimeout(timer);
      giveBack();
      giveBack = () => {};
      response.off("close", end);
    };
    response.once("close", end);
    return end;
  }

  #isTooMuch(network: string, bytes: number): boolean {
    const own = this.#held.get(network) ?? 0;
    return this.#all + bytes > this.#mostBytes || own + bytes > this.#mostBytes / 2;
  }

  #count(network: string, change: number): void {
    this.#all += change;
    const held = (this.#held.get(network) ?? 0) + change;
    if (held > 0) this.#held.set(network, held);
    else this.#held.delete(network);
  }
}
