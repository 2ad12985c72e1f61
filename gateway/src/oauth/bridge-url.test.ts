// The address of the cookie bridge.
import { describe, expect, it } from "@jest/globals";
import { bridgeUrl, withError } from "./bridge-url.js";

const target = (bridgePrefix: string, origin = "https://chat.example.com") => ({
  origin,
  bridgePrefix,
  redirect: "https://chat.example.com/a?b=1#c",
});

describe("bridgeUrl", () => {
  it("puts the code and the return address on the origin, below the prefix", () => {
    expect(bridgeUrl(target("/svc/api"), { code: "c0de" })).toBe(
      "https://chat.example.com/svc/api/auth/set-cookies?code=c0de&redirect=https%3A%2F%2Fchat.example.com%2Fa%3Fb%3D1%23c",
    );
    expect(bridgeUrl(target("/api"), { error: "email_in_use" })).toMatch(
      /set-cookies\?error=email_in_use&redirect=/,
    );
  });

  // What the rules before never let through, and what plain concatenation would send to another host.
  it.each([".evil.com", "@evil.com", ":8443", "//evil.com/..", "/..", "/a?x=", "/a#", "\\evil.com", "/a b"])(
    "A11 refuses to build an address from the prefix %j",
    (prefix) => {
      expect(() => bridgeUrl(target(prefix), { code: "c" })).toThrow();
    },
  );
});

describe("withError", () => {
  it.each([
    ["https://a.example/", "https://a.example/?error=access_denied"],
    ["https://a.example/x?y=%20z&w#top", "https://a.example/x?y=%20z&w&error=access_denied#top"],
  ])("adds the error to %s and changes nothing else", (redirect, expected) => {
    expect(withError(redirect, "access_denied")).toBe(expected);
  });
});
