// Which headers of a client are passed on, and which are the gateway's own.
import { describe, expect, it } from "@jest/globals";
import { upstreamRequestHeaders } from "./request-headers.js";

const OWN = {
  host: "data:3001",
  correlationId: "c-1",
  authorization: undefined,
  clientAddress: "203.0.113.9",
  publicHost: "app.example.com",
  publicProtocol: "https",
  origin: undefined,
  pageOrigins: undefined,
};
const OURS = {
  host: "data:3001",
  via: "1.1 portico",
  "x-correlation-id": "c-1",
  "x-forwarded-for": "203.0.113.9",
  "x-forwarded-host": "app.example.com",
  "x-forwarded-proto": "https",
};

describe("upstreamRequestHeaders", () => {
  it.each([
    "cookie",
    "authorization",
    "x-user-id",
    "x_user_id",
    "x-role",
    "x-portico-origin",
    "x-portico-page-origins",
    "x-forwarded-port",
    "forwarded",
    "x-real-ip",
    "x-original-url",
    "x-rewrite-url",
    "origin",
    "referer",
    "sec-fetch-site",
    "accept-encoding",
    "expect",
    "te",
    "trailer",
    "upgrade",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
  ])("drops %s", (name) => {
    expect(upstreamRequestHeaders("GET", { [name]: "x" }, OWN)).toEqual(OURS);
  });

  it.each(["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-correlation-id", "via", "host"])(
    "states %s itself",
    (name) => {
      expect(upstreamRequestHeaders("GET", { [name]: "evil" }, OWN)).toEqual(OURS);
    },
  );

  it.each([
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
  ])("passes %s", (name) => {
    expect(upstreamRequestHeaders("GET", { [name]: "x" }, OWN)).toEqual({ [name]: "x", ...OURS });
  });

  it("passes what the API reads, except what Connection names", () => {
    const headers = { accept: "a", "if-match": "b", range: "c", connection: "close, Range" };
    expect(upstreamRequestHeaders("GET", headers, OWN)).toEqual({ accept: "a", "if-match": "b", ...OURS });
  });

  it("adds the session's token after everything the client could drop", () => {
    const headers = { connection: "authorization", authorization: "Bearer client" };
    expect(upstreamRequestHeaders("GET", headers, { ...OWN, authorization: "Bearer session" })).toEqual({
      authorization: "Bearer session",
      ...OURS,
    });
  });

  it.each([
    ["POST", "QUERY", "QUERY"],
    ["POST", "DELETE", undefined],
    ["POST", "query", undefined],
    ["GET", "QUERY", undefined],
  ])("turns %s with the override %s into %p", (method, override, expected) => {
    const headers = upstreamRequestHeaders(method, { "x-http-method-override": override }, OWN);
    expect(headers["x-http-method-override"]).toBe(expected);
  });

  it.each([
    ["GET", {}, {}],
    ["POST", {}, { "content-length": "0" }],
    ["POST", { "content-length": "007" }, { "content-length": "7" }],
    ["DELETE", { "transfer-encoding": "Chunked" }, { "transfer-encoding": "chunked" }],
    ["POST", { "transfer-encoding": "chunked", "content-length": "9" }, { "transfer-encoding": "chunked" }],
  ])("frames %s with %j as %j", (method, headers, expected) => {
    expect(upstreamRequestHeaders(method, headers, OWN)).toEqual({ ...expected, ...OURS });
  });
});
