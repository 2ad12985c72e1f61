// What counts as a token, and what stays as it is.
import { describe, expect, it } from "@jest/globals";
import { withoutTokens } from "./without-tokens.js";

const BASE64 = "aB3_-".repeat(14);

describe("a text", () => {
  it.each([
    ["a refresh token", `/posts/svc_rt_${BASE64}`, "/posts/[redacted]"],
    ["an API token", `/svc_pat_${BASE64}/x`, "/[redacted]/x"],
    ["an access token", `eyJhbGciOiJFUzI1NiJ9.${BASE64}.${BASE64}`, "[redacted]"],
    ["two of them", `/svc_rt_${BASE64}/svc_rt_${BASE64}`, "/[redacted]/[redacted]"],
  ])("loses %s", (_what, text, left) => {
    expect(withoutTokens(text)).toBe(left);
  });

  it.each([
    "/posts/507f1f77bcf86cd799439011",
    "/svc_rt_short",
    "/eyJa.b",
    "/svc_role/0190163d-8694-739b-aea5",
  ])("without any stays: %s", (text) => {
    expect(withoutTokens(text)).toBe(text);
  });
});
