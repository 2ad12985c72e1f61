// The caller of a request that lasts: sessions may end and rights may change while it runs, and that takes effect within
// seconds.
import { KNOWN_FOR_MS } from "./auth/session.js";
import type { Requester } from "./principal.js";

/** How often a caller is looked at while a request lasts; what lies between a look and what rests on it has the remainder. */
export const LOOK_AT_CALLER_MS = 3_500;

export class LastingCaller {
  #principal: Requester;
  /** When the request began, or the caller was looked at since. */
  #lookedAt = performance.now();
  #readAt: number;
  readonly #present: () => Promise<Requester>;

  /**
   * @param principal as it was when the request began
   * @param present who it is now; it throws when the session or token has ended
   * @param readAt when that was read, by `performance.now()`: for an earlier request, if it was remembered
   */
  constructor(principal: Requester, present: () => Promise<Requester>, readAt = performance.now()) {
    this.#principal = principal;
    this.#present = present;
    this.#readAt = readAt;
  }

  /** As of the last look. */
  get principal(): Requester {
    return this.#principal;
  }

  /** When that was read, by `performance.now()`. */
  get readAt(): number {
    return this.#readAt;
  }

  /** When the caller is to be looked at, by `performance.now()`: short requests end before that, so that they cost no look. */
  dueAt(maxAgeMs = LOOK_AT_CALLER_MS): number {
    return Math.min(this.#lookedAt + maxAgeMs, this.#readAt + KNOWN_FOR_MS);
  }

  /** As of a few seconds ago at most. @throws AppError 401 when the session or token has ended */
  async now(maxAgeMs = LOOK_AT_CALLER_MS): Promise<Requester> {
    const asked = performance.now();
    if (asked < this.dueAt(maxAgeMs)) return this.#principal;
    this.#principal = await this.#present();
    this.#lookedAt = asked;
    this.#readAt = asked;
    return this.#principal;
  }
}
