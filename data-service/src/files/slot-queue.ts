// Lets a few tasks run at once and as many wait; the next one is refused.
import { unavailable } from "@portico/shared/app-error";

export class SlotQueue {
  readonly #atOnce: number;
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(atOnce: number, most: number) {
    this.#atOnce = atOnce;
    this.#most = most;
  }

  /** @throws AppError 503 when too many wait already */
  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.#atOnce) this.#running += 1;
    else await this.#turn();
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      // The slot passes on without ever being free.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#most)
      throw unavailable("Too many pictures are being made at the moment; try again shortly.", 2);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
