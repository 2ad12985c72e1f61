// What both services tell a page other than the one that a session was made for (contract, section 3.3).

/**
 * Names the origins whose pages the gateway serves, on its own calls and on a client's refresh: the data service knows for which
 * one a session was made, and refuses it there if that one is no longer among them.
 */
export const PAGE_ORIGINS_HEADER = "X-Portico-Page-Origins";

/** What that header says of them. No host has a comma in its name. */
export function writePageOrigins(origins: readonly string[]): string {
  return origins.join(",");
}

export function readPageOrigins(header: string): readonly string[] {
  return header.split(",");
}

/** @param reason why it is refused; ends the sentence */
export function pageRefused(origin: string, reason: string): string {
  return `Requests from the origin ${origin} are refused here; ${reason}.`;
}

/** Names the right page, because apps on several ports of one host overwrite each other's cookies. */
export function begunOn(origin: string): string {
  return `this session was begun on ${origin}`;
}
