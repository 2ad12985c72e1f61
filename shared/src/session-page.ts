// What both services tell a page other than the one that a session was made for (contract, section 3.3).

/** @param reason why it is refused; ends the sentence */
export function pageRefused(origin: string, reason: string): string {
  return `Requests from the origin ${origin} are refused here; ${reason}.`;
}

/** Names the right page, because apps on several ports of one host overwrite each other's cookies. */
export function begunOn(origin: string): string {
  return `this session was begun on ${origin}`;
}
