// The body of a request -> how its access token is replaced when it is about to expire. Pure.
import type { IncomingHttpHeaders } from "node:http";
import type { RouteKind } from "../http/media-type.js";

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
export function decideRenewal(body: RouteKind, headers: IncomingHttpHeaders): Renewal {
  const { "content-length": length = "0", "transfer-encoding": coding } = headers;
  return body === "json" && coding === undefined && Number(length) <= SOON_BYTES ? "refresh" : "borrow";
}
