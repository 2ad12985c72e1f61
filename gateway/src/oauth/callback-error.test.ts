// A provider's refusal -> one of the fixed errors (contract 3.4).
import { describe, expect, it } from "@jest/globals";
import { callbackError, isIssuer } from "./callback-error.js";

describe("callbackError", () => {
  it.each([
    ["access_denied", "access_denied"],
    ["server_error", "provider_unavailable"],
    ["temporarily_unavailable", "provider_unavailable"],
    ["invalid_request", "provider_error"],
    ["", "provider_error"],
    ["__proto__", "provider_error"],
    ["<script>", "provider_error"],
  ])("makes %j %s", (theirs, ours) => expect(callbackError(theirs)).toBe(ours));
});

describe("isIssuer", () => {
  it.each([
    [undefined, true],
    ["https://accounts.google.com", true],
    ["https://evil.com", false],
    ["https://accounts.google.com.evil.com", false],
    ["", false],
    ["accounts.google.com", false],
  ])("A13 of iss %j says %s", (iss, expected) => {
    expect(isIssuer(iss, "https://accounts.google.com/o/oauth2/v2/auth")).toBe(expected);
  });
});
