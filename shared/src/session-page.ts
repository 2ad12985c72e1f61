// What both services know of the page that a session was made for: where it counts, and what another page is told (contract,
// section 3.3).

/** Names the page that a session is made for, or that ends one by its cookies. */
export const ORIGIN_HEADER = "X-Portico-Origin";

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

/**
 * Whether a session counts at a gateway that serves the pages of these origins (security row A25). One made for an origin that
 * was taken out of ALLOWED_ORIGINS, or for an APP_URL of before, is of no use there. Nothing ends by that: another gateway may
 * serve its page.
 * @param origin the one that it was made for; a session that no browser made has none, and counts everywhere
 * @param pageOrigins undefined at the data service itself, where every session counts
 */
export function isServed(
  origin: string | null | undefined,
  pageOrigins: readonly string[] | undefined,
): boolean {
  return origin === null || origin === undefined || pageOrigins === undefined || pageOrigins.includes(origin);
}

/** @param reason why it is refused; ends the sentence */
export function pageRefused(origin: string, reason: string): string {
  return `Requests from the origin ${origin} are refused here; ${reason}.`;
}

/** Names the right page, because apps on several ports of one host overwrite each other's cookies. */
export function begunOn(origin: string): string {
  return `this session was begun on ${origin}`;
}
