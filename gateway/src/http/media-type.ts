// Which bodies a request that relies on cookies may carry: JSON, multipart on the upload routes, CSV and NDJSON on the
// import routes. Pure.
import type { IncomingHttpHeaders } from "node:http";
import { hasBody } from "@portico/shared/has-body";
import { isJsonType } from "@portico/shared/json-type";

const RECORD_FILE = /^(text\/csv|application\/x-ndjson)\s*(;|$)/i;
const MULTIPART_BODY = /^multipart\/form-data\s*(;|$)/i;

/** What a route takes beside JSON: nothing, a form with a file, or a file of records. */
export type RouteKind = "json" | "upload" | "import";

/** Whether the body is what the route takes beside JSON. */
export function isSpecialBody(contentType: string | undefined, route: RouteKind): boolean {
  if (contentType === undefined || route === "json") return false;
  return (route === "upload" ? MULTIPART_BODY : RECORD_FILE).test(contentType);
}

/** A form on a foreign page can not send such a body without a preflight, except on upload routes. */
export function isAcceptedBody(headers: IncomingHttpHeaders, route: RouteKind): boolean {
  if (!hasBody(headers)) return true;
  const contentType = headers["content-type"];
  return isJsonType(contentType) || isSpecialBody(contentType, route);
}
