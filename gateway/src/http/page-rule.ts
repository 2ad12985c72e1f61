// Acts on the CSRF rule: a request from the wrong page ends here with 403, an unaccepted body with 415.
import type { IncomingMessage } from "node:http";
import { AppError } from "@portico/shared/app-error";
import { begunOn } from "@portico/shared/session-page";
import { isAcceptedBody, type RouteKind } from "./media-type.js";
import { judgePage } from "./same-origin.js";

type Headed = Pick<IncomingMessage, "headers">;

/**
 * @param origins the origins the request may come from
 * @param reason why only these are allowed
 * @throws AppError FORBIDDEN
 */
export function requirePage({ headers }: Headed, origins: readonly string[], reason?: string): void {
  const { origin, "sec-fetch-site": site } = headers;
  const secFetchSite = Array.isArray(site) ? site.join(", ") : site;
  const verdict = judgePage({ secFetchSite, origin }, origins, reason);
  if (verdict.kind === "refused") throw new AppError("FORBIDDEN", verdict.message);
}

/**
 * For requests that rely on the cookies of a session.
 * @param origin the one that the session was made for
 * @throws AppError FORBIDDEN that names it: apps on several ports of one host overwrite each other's cookies
 */
export function requireSessionPage(request: Headed, origin: string): void {
  requirePage(request, [origin], begunOn(origin));
}

/** @throws AppError UNSUPPORTED_MEDIA_TYPE unless the body, if any, is JSON or what the route takes beside it */
export function requireBodyType({ headers }: Headed, route: RouteKind): void {
  if (isAcceptedBody(headers, route)) return;
  throw new AppError("UNSUPPORTED_MEDIA_TYPE", `Send the body as ${ACCEPTED[route]}.`);
}

const ACCEPTED: Readonly<Record<RouteKind, string>> = {
  json: "application/json",
  upload: "application/json or multipart/form-data",
  import: "text/csv or application/x-ndjson",
};
