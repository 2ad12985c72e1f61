// Requests that a process has received completely but not begun to answer: how many, whose, since when, how fast they are
// answered.
import { beside } from "./beside.js";
import { Counts } from "./counts.js";
import { LinkedSet } from "./linked-set.js";

/** What a decision about overload needs to know. */
export interface Waiting {
  /** How long the first of those that wait has waited, in milliseconds. */
  readonly oldestMs: number;
  /** How many were answered in the last second. */
  readonly answeredPerSecond: number;
}

const SECOND_MS = 1_000;

/** All times come from one clock, in milliseconds. */
export class WaitingRequests<Request extends object> {
  /** In the order in which they came. */
  readonly #waiting = new LinkedSet<Request>();
  readonly #since = beside<Request, number>();
  readonly #client = beside<Request, string>();
  readonly #byClient = new Counts();
  #second = 0;
  #answered = 0;
  #answeredBefore = 0;

  begin(request: Request, client: string, now: number): void {
    this.#since.set(request, now);
    this.#client.set(request, client);
    this.#waiting.add(request);
    this.#byClient.add(client, 1);
  }

  /** Its answer has begun, or nobody waits for it any more. */
  end(request: Request, isAnswered: boolean, now: number): void {
    if (!this.#waiting.delete(request)) return;
    this.#byClient.add(this.#client.get(request) ?? "", -1);
    if (!isAnswered) return;
    this.#turn(now);
    this.#answered += 1;
  }

  /** Ends all whose answer has begun. */
  endWhere(isAnswered: (request: Request) => boolean, now: number): void {
    for (const request of this.#waiting) if (isAnswered(request)) this.end(request, true, now);
  }

  /** How many another request of this client would wait for: all of its own, and of each other client's so many at most. */
  before(client: string, mostOfAnother: number): number {
    const own = this.#byClient.of(client);
    return this.#byClient.upTo(mostOfAnother) - Math.min(own, mostOfAnother) + own;
  }

  look(now: number): Waiting {
    this.#turn(now);
    const { first } = this.#waiting;
    const since = first && this.#since.get(first);
    const partOfBefore = 1 - (now % SECOND_MS) / SECOND_MS;
    return {
      oldestMs: now - (since ?? now),
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
