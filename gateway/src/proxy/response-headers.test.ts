// Which headers of the data service reach a client.
import { describe, expect, it } from "@jest/globals";
import { clientResponseHeaders } from "./response-headers.js";

describe("clientResponseHeaders", () => {
  it.each([
    "server",
    "x-powered-by",
    "x-internal",
    "x-portico-client",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "trailer",
    "upgrade",
    "proxy-authenticate",
    "access-control-allow-origin",
    "access-control-allow-credentials",
    "strict-transport-security",
    "x-correlation-id",
    "refresh",
    "link",
    "clear-site-data",
  ])("drops %s", (name) => {
    expect(clientResponseHeaders({ [name]: "x" })).toEqual({});
  });

  it("drops cookies", () => {
    expect(clientResponseHeaders({ "set-cookie": ["a=b"] })).toEqual({});
  });

  it.each([
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
  ])("passes %s", (name) => {
    expect(clientResponseHeaders({ [name]: "x" })).toEqual({ [name]: "x" });
  });

  it.each([
    ["/api/posts/1", true],
    ["/api/posts/a%20b?x=1", true],
    ["/api", false],
    ["/posts/1", false],
    ["//evil.com/api/", false],
    ["https://evil.com/api/x", false],
    ["/api/\\evil", false],
    ["/api/x y", false],
    ["/apis/x", false],
  ])("passes the Location %p: %p", (location, passed) => {
    expect(clientResponseHeaders({ location })).toEqual(passed ? { location } : {});
  });
});
