// What is read of the data service's own answers, and what makes no sense.
import { describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import { foreignError, isLostAnswer, notInTime, readUpstreamError } from "./upstream-error.js";

describe("readUpstreamError", () => {
  it("keeps code, messages, details and Retry-After", () => {
    const error = { code: "TOO_MANY_REQUESTS", message: "x", details: { left: 0 }, path: "/inside" };
    expect(readUpstreamError({ message: ["a: b"], error }, "60")).toMatchObject({
      code: "TOO_MANY_REQUESTS",
      status: 429,
      messages: ["a: b"],
      details: { left: 0 },
      headers: { "Retry-After": "60" },
    });
  });

  it.each([
    ["INVALID_TOKEN", { "WWW-Authenticate": 'Bearer error="invalid_token"' }],
    ["TOKEN_EXPIRED", { "WWW-Authenticate": 'Bearer error="invalid_token"' }],
    ["INVALID_CREDENTIALS", {}],
  ])("challenges whoever sent a bad token: %s", (code, headers) => {
    expect(readUpstreamError({ message: "no", error: { code } }, null)?.headers).toEqual(headers);
  });

  it.each<unknown>([
    undefined,
    "<html>",
    {},
    { error: "x" },
    { error: { code: "NO_SUCH_CODE" } },
    { error: { code: "toString" } },
    { error: { code: 5 } },
  ])("does not believe %j", (body) => {
    expect(readUpstreamError(body, null)).toBeUndefined();
  });
});

/** As `fetch` tells of it. */
const failed = (cause: object): AppError =>
  new AppError("BAD_GATEWAY", { cause: new TypeError("fetch failed", { cause }) });
const REFUSED = { code: "ECONNREFUSED", syscall: "connect" };

describe("what was asked may have been done", () => {
  it.each<[string, unknown]>([
    ["its answer is late", notInTime(undefined)],
    ["the connection broke", failed({ code: "ECONNRESET", syscall: "read" })],
    ["the connection was closed", failed({ code: "UND_ERR_SOCKET" })],
    ["a socket broke", Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })],
    ["something in between failed", foreignError(503, null)],
    ["an answer makes no sense", foreignError(200, null)],
  ])("where %s", (_how, error) => {
    expect(isLostAnswer(error)).toBe(true);
  });

  it.each<[string, unknown]>([
    ["no connection was taken", failed(REFUSED)],
    ["none was made in time", failed({ code: "UND_ERR_CONNECT_TIMEOUT" })],
    ["the host has no address", failed({ code: "ENOTFOUND", syscall: "getaddrinfo" })],
    ["none of its addresses took one", failed(new AggregateError([REFUSED, REFUSED]))],
    ["something in between has refused", foreignError(429, null)],
    ["the data service has refused", readUpstreamError({ error: { code: "SERVICE_UNAVAILABLE" } }, "2")],
  ])("but not where %s", (_how, error) => {
    expect(isLostAnswer(error)).toBe(false);
  });
});
