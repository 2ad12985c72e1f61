// The body of a request, and who began it -> how its access token is replaced when it is about to expire. Pure.
import type { IncomingHttpHeaders } from "node:http";
import type { RouteKind } from "../http/media-type.js";
import { isOwnPage } from "../http/same-origin.js";
import { isSpeculative } from "../http/speculative.js";

export type Renewal =
  /** The session is refreshed, and the answer brings the browser its next cookies. */
  | "refresh"
  /** An access token for this request alone: the session stays, and the answer sets no cookies. */
  | "borrow";

/** A body up to this size mostly arrives almost at once (see `choose-renewal`). */
const SOON_BYTES = 64 * 1024;

/**
 * Set-Cookie travels in the response headers; for an upload, or a large JSON body on a slow line, those are sent only after
 * the whole body has been read. Until then the browser would use replaced tokens, as a thief does.
 */
export function decideRenewal(
  body: RouteKind,
  headers: IncomingHttpHeaders,
  pageOrigins: readonly string[],
): Renewal {
  if (mayBeGivenUp(headers, pageOrigins)) return "borrow";
  const { "content-length": length = "0", "transfer-encoding": coding } = headers;
  return body === "json" && coding === undefined && Number(length) <= SOON_BYTES ? "refresh" : "borrow";
}

/**
 * Another origin's page can begin a request and stop it before its answer, as a browser does with its own guesses: the
 * session would move on, its new cookies would reach nobody, and what the browser has would look stolen half a minute later.
 * A page that is served, and says so by its `Origin`, does not mean to, and may be all that keeps its user's session alive.
 */
export function mayBeGivenUp(headers: IncomingHttpHeaders, pageOrigins: readonly string[]): boolean {
  const { "sec-fetch-site": site, origin } = headers;
  const isServedPage = origin !== undefined && pageOrigins.includes(origin);
  return (!isOwnPage(site) && !isServedPage) || isSpeculative(headers);
}
