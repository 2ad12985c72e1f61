// Who sends a request, before anybody has looked at what it presents: whoever that was before, or else a network.
import { networkOf } from "./network-of.js";

/** In it the data service tells the gateway whose a token is: it is on each answer to a user who has proved to be one. */
export const CLIENT_HEADER = "X-Portico-Client";

/** After so many tokens those are forgotten that came only before them. */
const GENERATION = 5_000;

/** Of a token its end is kept, which no other has: it is random, or a part of the signature. */
const END_CHARACTERS = 24;

/** Anybody can make up any number of tokens, so one names a client only once it was found good. */
export class ProvedClients {
  #recent = new Map<string, string>();
  #former: ReadonlyMap<string, string> = new Map();

  /** To be told each time that a token was found good. */
  prove(token: string, client: string): void {
    if (this.#recent.get(endOf(token)) === client) return;
    if (this.#recent.size >= GENERATION) {
      this.#former = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(copyOf(endOf(token)), client);
  }

  /**
   * @param token what the request presents
   * @param address where it comes from
   */
  clientOf(token: string | undefined, address: string | undefined): string {
    return this.#proved(token) ?? networkOf(address ?? null);
  }

  #proved(token: string | undefined): string | undefined {
    if (token === undefined) return undefined;
    const end = endOf(token);
    return this.#recent.get(end) ?? this.#former.get(end);
  }
}

function endOf(token: string): string {
  return token.slice(-END_CHARACTERS);
}

/** A part of a text keeps all of it in memory, here the header line that the token came in. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}
