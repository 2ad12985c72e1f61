// What both services say to a page that is not the one a session was made for (contract, section 3.3).

/** @param reason why it is refused, as the end of a sentence */
export function pageRefused(origin: string, reason: string): string {
  return `Requests from the origin ${origin} are refused here; ${reason}.`;
}

/** On one host, apps on several ports overwrite each other's cookies: so the right page is named. */
export function begunOn(origin: string): string {
  return `this session was begun on ${origin}`;
}
