// The header set of an upstream request: those of the client's that are on an allow list, then our own. Pure.
import type { IncomingHttpHeaders } from "node:http";
import { isQueryByPost } from "@portico/shared/method-override";
import { ORIGIN_HEADER, PAGE_ORIGINS_HEADER, writePageOrigins } from "@portico/shared/session-page";

/** What the gateway itself states about a request. */
export interface OwnHeaders {
  readonly host: string;
  readonly correlationId: string;
  readonly authorization: string | undefined;
  readonly clientAddress: string | undefined;
  /** Of the app's public address, never of the client's Host header. */
  readonly publicHost: string;
  readonly publicProtocol: string;
  /** For a log-in: the page that the session is for, if it is one that is served here. */
  readonly origin: string | undefined;
  /** For a refresh: the origins whose sessions count here. */
  readonly pageOrigins: readonly string[] | undefined;
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

/** A gateway must name itself to whom it forwards (RFC 9110, section 7.6.3). What others were on the way stays here. */
const VIA = "1.1 portico";

/**
 * @param method of the client's request
 * @param headers of the client's request
 */
export function upstreamRequestHeaders(
  method: string,
  headers: IncomingHttpHeaders,
  own: OwnHeaders,
): IncomingHttpHeaders {
  const passed = allowedOf(headers);
  if (isQueryByPost({ method, headers })) passed["x-http-method-override"] = "QUERY";
  frame(passed, method, headers);
  passed.host = own.host;
  passed.via = VIA;
  passed["x-correlation-id"] = own.correlationId;
  passed["x-forwarded-host"] = own.publicHost;
  passed["x-forwarded-proto"] = own.publicProtocol;
  if (own.clientAddress !== undefined) passed["x-forwarded-for"] = own.clientAddress;
  if (own.origin !== undefined) passed[ORIGIN_HEADER.toLowerCase()] = own.origin;
  if (own.pageOrigins !== undefined)
    passed[PAGE_ORIGINS_HEADER.toLowerCase()] = writePageOrigins(own.pageOrigins);
  if (own.authorization !== undefined) passed.authorization = own.authorization;
  return passed;
}

/** Headers named in `Connection` are hop-by-hop and go no further (RFC 9110, section 7.6.1). */
function allowedOf(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const passed: IncomingHttpHeaders = {};
  for (const name of ALLOWED) {
    const value = headers[name];
    if (value !== undefined) passed[name] = value;
  }
  const { connection } = headers;
  if (connection === undefined || connection === "keep-alive") return passed;
  for (const name of connection.split(",")) delete passed[name.trim().toLowerCase()];
  return passed;
}

const METHODS_WITH_BODY = ["POST", "PUT", "PATCH"];

/**
 * Frames the body anew from what the parser understood. A chunked body must say so even on methods that
 * seldom have one: Node would write it without any framing, and its bytes would read as the next request.
 */
function frame(passed: IncomingHttpHeaders, method: string, headers: IncomingHttpHeaders): void {
  const length = headers["content-length"];
  if (headers["transfer-encoding"] !== undefined) passed["transfer-encoding"] = "chunked";
  else if (length !== undefined) passed["content-length"] = String(Number(length));
  else if (METHODS_WITH_BODY.includes(method)) passed["content-length"] = "0";
}
