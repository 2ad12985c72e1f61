// The header set of an upstream request: an allow list of the client's, then our own. Pure.
import type { IncomingHttpHeaders } from "node:http";
import { isQueryByPost } from "@portico/shared/method-override";

/** What the gateway itself states about a request. */
export interface OwnHeaders {
  readonly host: string;
  readonly correlationId: string;
  readonly authorization: string | undefined;
  readonly clientAddress: string | undefined;
  /** Of the app's public address, never of the client's Host header. */
  readonly publicHost: string;
  readonly publicProtocol: string;
}

/** Everything else stays here: cookies, identity and forwarding headers, hop-by-hop headers, unknown ones. */
const ALLOWED = [
  "accept",
  "accept-language",
  "content-encoding",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-event-id",
  "range",
  "traceparent",
  "tracestate",
  "user-agent",
];

/**
 * @param method of the client's request
 * @param headers of the client's request
 */
export function upstreamRequestHeaders(
  method: string,
  headers: IncomingHttpHeaders,
  own: OwnHeaders,
): IncomingHttpHeaders {
  return {
    ...allowedOf(headers),
    ...methodOverride(method, headers),
    ...framing(method, headers),
    host: own.host,
    "x-correlation-id": own.correlationId,
    "x-forwarded-host": own.publicHost,
    "x-forwarded-proto": own.publicProtocol,
    ...(own.clientAddress === undefined ? {} : { "x-forwarded-for": own.clientAddress }),
    ...(own.authorization === undefined ? {} : { authorization: own.authorization }),
  };
}

/** Headers named in `Connection` are hop-by-hop and go no further (RFC 9110, section 7.6.1). */
function allowedOf(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const dropped = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const passed: IncomingHttpHeaders = {};
  for (const name of ALLOWED) {
    const value = headers[name];
    if (value !== undefined && !dropped.has(name)) passed[name] = value;
  }
  return passed;
}

function methodOverride(method: string, headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return isQueryByPost({ method, headers }) ? { "x-http-method-override": "QUERY" } : {};
}

const METHODS_WITH_BODY = ["POST", "PUT", "PATCH"];

/**
 * Frames the body anew from what the parser understood. A chunked body must say so even on methods that
 * seldom have one: Node would write it without any framing, and its bytes would read as the next request.
 */
function framing(method: string, headers: IncomingHttpHeaders): IncomingHttpHeaders {
  if (headers["transfer-encoding"] !== undefined) return { "transfer-encoding": "chunked" };
  const length = headers["content-length"];
  if (length !== undefined) return { "content-length": String(Number(length)) };
  return METHODS_WITH_BODY.includes(method) ? { "content-length": "0" } : {};
}
