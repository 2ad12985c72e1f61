// The body of a request -> how its access token is replaced when it is about to expire. Pure.
import type { RouteKind } from "../http/media-type.js";

export type Renewal =
  /** The session is refreshed, and the answer brings the browser its next cookies. */
  | "refresh"
  /** An access token for this request alone: the session stays, and the answer sets no cookies. */
  | "borrow";

/**
 * Cookies leave with the head of an answer, and that of a file comes when the file has been read: minutes later. Until
 * then the browser would use replaced tokens, which is what a thief does.
 */
export function renewalFor(body: RouteKind): Renewal {
  return body === "json" ? "refresh" : "borrow";
}
