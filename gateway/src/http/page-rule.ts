// Acts on the CSRF rule: a request from the wrong page ends here with 403, an unaccepted body with 415.
import { AppError } from "@portico/shared/app-error";
import type { Request } from "express";
import { isAcceptedBody, type RouteKind } from "./media-type.js";
import { judgePage } from "./same-origin.js";

/**
 * @param origins the origins the request may come from
 * @throws AppError FORBIDDEN
 */
export function requirePage(request: Request, origins: readonly string[]): void {
  const { origin, "sec-fetch-site": site } = request.headers;
  const secFetchSite = Array.isArray(site) ? site.join(", ") : site;
  const verdict = judgePage({ secFetchSite, origin }, origins);
  if (verdict.kind === "refused") throw new AppError("FORBIDDEN", verdict.message);
}

/** @throws AppError UNSUPPORTED_MEDIA_TYPE unless the body, if any, is JSON or what the route takes beside it */
export function requireBodyType(request: Request, route: RouteKind): void {
  if (isAcceptedBody(request.headers, route)) return;
  throw new AppError("UNSUPPORTED_MEDIA_TYPE", `Send the body as ${ACCEPTED[route]}.`);
}

const ACCEPTED: Readonly<Record<RouteKind, string>> = {
  json: "application/json",
  upload: "application/json or multipart/form-data",
  import: "text/csv or application/x-ndjson",
};
