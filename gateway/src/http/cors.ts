// CORS with credentials for the origins of ALLOWED_ORIGINS, and for nobody else.
import { KNOWN_METHODS } from "@portico/shared/methods";
import type { RequestHandler } from "express";

/** With PUT: its refusal says what to use instead, and a page can read it only if it may ask. */
const METHODS = KNOWN_METHODS.filter((method) => method !== "OPTIONS").join(", ");
const REQUEST_HEADERS =
  "Authorization, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match, If-Range, " +
  "If-Unmodified-Since, Last-Event-ID, Range, traceparent, tracestate, X-Correlation-ID, X-HTTP-Method-Override";
const RESPONSE_HEADERS =
  "Accept-Query, Accept-Ranges, Allow, Content-Disposition, Content-Range, ETag, Location, Retry-After, X-Correlation-ID";
/** Ten minutes: a removed origin is forgotten soon enough. */
const PREFLIGHT_MAX_AGE_SECONDS = "600";

/** Answers preflights itself. A foreign origin gets no CORS header, which its browser takes as a refusal. */
export function cors(allowedOrigins: readonly string[]): RequestHandler {
  const allowed = new Set(allowedOrigins);
  return (request, response, next) => {
    const { origin } = request.headers;
    response.vary("Origin");
    if (origin !== undefined && allowed.has(origin)) {
      response.set({
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Expose-Headers": RESPONSE_HEADERS,
      });
    }
    const isPreflight =
      request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
    if (!isPreflight) return next();
    if (response.hasHeader("Access-Control-Allow-Origin")) {
      response.set({
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": REQUEST_HEADERS,
        "Access-Control-Max-Age": PREFLIGHT_MAX_AGE_SECONDS,
      });
    }
    response.status(204).end();
  };
}
