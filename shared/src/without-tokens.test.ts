// What counts as a token, and what stays as it is.
import { describe, expect, it } from "@jest/globals";
import { withoutTokens } from "./without-tokens.js";

const BASE64 = "aB3_-".repeat(14);

describe("a text", () => {
  it.each([
    ["a refresh token", `/posts/svc_rt_${BASE64}`, "/posts/[redacted]"],
    ["an API token", `/svc_pat_${BASE64}/x`, "/[redacted]/x"],
    ["an access token", `eyJhbGciOiJFUzI1NiJ9.${BASE64}.${BASE64}`, "[redacted]"],
    ["one with something before it", `/token-eyJhbGciOiJFUzI1NiJ9.${BASE64}.${BASE64}`, "/[redacted]"],
    ["one that is percent-encoded", `/a%20b/svc%5Frt%5f${BASE64}`, "/a%20b/[redacted]"],
    ["one whose dots are", `/%65yJhbGciOiJFUzI1NiJ9%2E${BASE64}%2e${BASE64}`, "/[redacted]"],
    ["two of them", `/svc_rt_${BASE64}/svc_rt_${BASE64}`, "/[redacted]/[redacted]"],
  ])("loses %s", (_what, text, left) => {
    expect(withoutTokens(text)).toBe(left);
  });

  it.each([
    "/posts/507f1f77bcf86cd799439011",
    "/svc_rt_short",
    "/a.b.c",
    "web.surveyJob.42",
    "/%41%2e%zz",
    "/eyJa.b",
    "/svc_role/0190163d-8694-739b-aea5",
  ])("without any stays: %s", (text) => {
    expect(withoutTokens(text)).toBe(text);
  });

  it.each(["eyJ", "eyJ.", "eyJ.a.", "svc_rt_", "%65yJ", "a.a", "-"])(
    "of 32 KB takes no longer than its length does: %s again and again",
    (piece) => {
      const text = piece.repeat(32_000 / piece.length);
      const began = performance.now();
      for (let at = 0; at < 10; at += 1) withoutTokens(text);
      // A pattern that begins anew within what it has read takes seconds here; these take some ten milliseconds.
      expect(performance.now() - began).toBeLessThan(500);
    },
  );
});
