// Does a browser ask on a guess, for a page that nobody may ever see? Pure.
import type { IncomingHttpHeaders } from "node:http";

/** `Sec-Purpose` of today's browsers, where a page that is prerendered is a `prefetch` too, and what older ones say. */
export function isSpeculative({
  "sec-purpose": secPurpose,
  purpose,
  "x-moz": xMoz,
}: IncomingHttpHeaders): boolean {
  return /prefetch/.test([secPurpose, purpose, xMoz].join(" "));
}
