// What is read of the data service's own answers, and what makes no sense.
import { describe, expect, it } from "@jest/globals";
import { readTokenPair } from "./token-pair.js";
import { readUpstreamError } from "./upstream-error.js";

const PAIR = { accessToken: "a", refreshToken: "r", expTime: 1, refreshExpTime: 2, loginProvider: null };

describe("readTokenPair", () => {
  it("takes the five keys and nothing else", () => {
    expect(readTokenPair({ statusCode: 200, message: "Success", ...PAIR })).toEqual(PAIR);
  });

  it.each<unknown>([
    undefined,
    null,
    "text",
    [],
    { ...PAIR, accessToken: undefined },
    { ...PAIR, accessToken: "" },
    { ...PAIR, refreshToken: { $ne: null } },
    { ...PAIR, expTime: "1" },
    { ...PAIR, refreshExpTime: null },
    { ...PAIR, loginProvider: 5 },
  ])("refuses %j", (body) => {
    expect(readTokenPair(body)).toBeUndefined();
  });
});

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
