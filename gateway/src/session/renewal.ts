// The body of a request -> how its access token is replaced when it is about to expire. Pure.
import type { IncomingHttpHeaders } from "node:http";
import type { RouteKind } from "../http/media-type.js";

export type Renewal =
  /** The session is refreshed, and the answer brings the browser its next cookies. */
  | "refresh"
  /** An access token for this request alone: the session stays, and the answer sets no cookies. */
  | "borrow";

/** A body that is no larger has come at once, or soon. */
const SOON_BYTES = 64 * 1024;

/**
 * Cookies leave with the head of an answer, and that of a file, or of much JSON on a slow line, comes when all of it has been
 * read. Until then the browser would use replaced tokens, which is what a thief does.
 */
export function renewalFor(body: RouteKind, headers: IncomingHttpHeaders): Renewal {
  const { "content-length": length = "0", "transfer-encoding": coding } = headers;
  return body === "json" && coding === undefined && Number(length) <= SOON_BYTES ? "refresh" : "borrow";
}
