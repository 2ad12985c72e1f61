// The caller of a request that lasts: sessions may end and rights may change while it runs, and that takes effect within
// seconds.
import { endedMeanwhile } from "@portico/shared/bearer-token";
import type { Requester } from "./principal.js";

/** Changed roles and ended sessions take effect everywhere within 5 s (contract, section 3). */
export const LOOK_AT_CALLER_MS = 3_500;

export class LastingCaller {
  #principal: Requester;
  #lookedAt = performance.now();
  readonly #present: () => Promise<Requester | undefined>;

  /**
   * @param principal as it was when the request began
   * @param present who it is now; undefined when the session or token has ended
   */
  constructor(principal: Requester, present: () => Promise<Requester | undefined>) {
    this.#principal = principal;
    this.#present = present;
  }

  /** As of the last look. */
  get principal(): Requester {
    return this.#principal;
  }

  /** As of a few seconds ago at most. @throws AppError 401 when the session or token has ended */
  async now(maxAgeMs = LOOK_AT_CALLER_MS): Promise<Requester> {
    if (performance.now() - this.#lookedAt < maxAgeMs) return this.#principal;
    const principal = await this.#present();
    if (principal === undefined) throw endedMeanwhile();
    this.#principal = principal;
    this.#lookedAt = performance.now();
    return principal;
  }
}
