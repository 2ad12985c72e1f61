// Who sends a request, before anybody has looked at what it presents: whoever that was before, or else a network.
import { networkOf } from "./network-of.js";

/** By which the data service tells the gateway whose user has proved to be one: it is on answers to those who are signed in. */
export const CLIENT_HEADER = "X-Portico-Client";

/** After so many tokens those are forgotten that came only before them. */
const GENERATION = 5_000;

/** Anybody can make up any number of tokens, so one names a client only once it was found good. */
export class ProvedClients {
  #recent = new Map<string, string>();
  #former: ReadonlyMap<string, string> = new Map();

  /** To be told each time that a token was found good. */
  prove(token: string, client: string): void {
    if (this.#recent.size >= GENERATION && !this.#recent.has(token)) {
      this.#former = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(token, client);
  }

  /**
   * @param token what the request presents
   * @param address where it comes from
   */
  clientOf(token: string | undefined, address: string | undefined): string {
    const proved = token === undefined ? undefined : (this.#recent.get(token) ?? this.#former.get(token));
    return proved ?? networkOf(address ?? null);
  }
}
