// Requests that a process has wholly received and not begun to answer: how many, since when, and how fast they are done.

/** What a decision needs to know of them. */
export interface Waiting {
  readonly count: number;
  /** How long the first of them has waited, in milliseconds. */
  readonly oldestMs: number;
  /** How many were answered in the last second. */
  readonly answeredPerSecond: number;
}

const SECOND_MS = 1_000;

/** Times are of one clock, in milliseconds. */
export class WaitingRequests<Request extends object> {
  /** In the order in which they came. */
  readonly #since = new Map<Request, number>();
  #second = 0;
  #answered = 0;
  #answeredBefore = 0;

  begin(request: Request, now: number): void {
    this.#since.set(request, now);
  }

  /** Its answer has begun, or nobody waits for it any more. */
  end(request: Request, isAnswered: boolean, now: number): void {
    if (!this.#since.delete(request) || !isAnswered) return;
    this.#turn(now);
    this.#answered += 1;
  }

  /** Ends those of which this is so: their answers have begun. */
  endWhere(isAnswered: (request: Request) => boolean, now: number): void {
    for (const request of this.#since.keys()) if (isAnswered(request)) this.end(request, true, now);
  }

  look(now: number): Waiting {
    this.#turn(now);
    const [first = now] = this.#since.values();
    const partOfBefore = 1 - (now % SECOND_MS) / SECOND_MS;
    return {
      count: this.#since.size,
      oldestMs: now - first,
      answeredPerSecond: this.#answered + this.#answeredBefore * partOfBefore,
    };
  }

  #turn(now: number): void {
    const second = Math.floor(now / SECOND_MS);
    if (second === this.#second) return;
    this.#answeredBefore = second === this.#second + 1 ? this.#answered : 0;
    this.#answered = 0;
    this.#second = second;
  }
}
