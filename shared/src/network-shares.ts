// Something of which there is only so much for everybody, and no more than half of it for one network.
import { Counts } from "./counts.js";
import { networkOf } from "./network-of.js";

export class NetworkShares {
  readonly #most: number;
  /** How much is taken, by network. */
  readonly #taken = new Counts();

  /** @param most how much may be taken at once, half of it by one network */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * @param address of the client
   * @returns gives it back, once; undefined if too much is taken already
   */
  take(address: string | undefined, amount = 1): (() => void) | undefined {
    const network = networkOf(address ?? null);
    const own = this.#taken.of(network);
    if (this.#taken.all + amount > this.#most || own + amount > Math.ceil(this.#most / 2)) return undefined;
    this.#taken.add(network, amount);
    return () => this.#taken.add(network, -amount);
  }
}
