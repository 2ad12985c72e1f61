// Who sends a request, before anybody has looked at what it presents: whoever that was before, or else a network.
import { LRUCache } from "lru-cache";
import { copyOfText } from "./copy-of-text.js";
import { networkOf } from "./network-of.js";

/** In it the data service tells the gateway whose a token is: it is on each answer to a user who has proved to be one. */
export const CLIENT_HEADER = "x-portico-client";

/** Of so many tokens it is remembered whose they are. */
const REMEMBERED = 10_000;

/** Of a token its end is kept, which no other has: it is random, or a part of the signature. */
const END_CHARACTERS = 24;

/** Anybody can make up any number of tokens, so one names a client only once it was found good. */
export class ProvedClients {
  readonly #clients = new LRUCache<string, string>({ max: REMEMBERED });

  /** To be told each time that a token was found good. */
  prove(token: string, client: string): void {
    if (this.#clients.get(endOf(token)) !== client) this.#clients.set(copyOfText(endOf(token)), client);
  }

  /**
   * @param token what the request presents
   * @param address where it comes from
   */
  clientOf(token: string | undefined, address: string | undefined): string {
    const proved = token === undefined ? undefined : this.#clients.get(endOf(token));
    return proved ?? networkOf(address ?? null);
  }
}

function endOf(token: string): string {
  return token.slice(-END_CHARACTERS);
}
