// The header set of a forwarded answer: those of the data service's that are on an allow list. Pure.
import type { IncomingHttpHeaders } from "node:http";

/** Everything else stays behind: cookies, software names, hop-by-hop headers, CORS, unknown ones. */
const ALLOWED = [
  "accept-query",
  "accept-ranges",
  "allow",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-range",
  "content-security-policy",
  "content-type",
  "cross-origin-resource-policy",
  "etag",
  "last-modified",
  "retry-after",
  "vary",
  "www-authenticate",
  "x-accel-buffering",
];

/** A relative address below `/api/`; `//host` and full addresses could lead away. */
const OWN_LOCATION = /^\/api\/[\x21-\x5b\x5d-\x7e]*$/;

/** @param upstream headers of the data service's answer */
export function clientResponseHeaders(upstream: IncomingHttpHeaders): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of ALLOWED) {
    const value = upstream[name];
    if (typeof value === "string") headers[name] = value;
  }
  if (upstream.location !== undefined && OWN_LOCATION.test(upstream.location)) {
    headers.location = upstream.location;
  }
  return headers;
}
