// Credentials -> use, renew, anonymous or refused (contract 3.3).
import { describe, expect, it } from "@jest/globals";
import type { Spelling } from "../cookies/session-cookies.js";
import type { Credentials } from "./credentials.js";
import { decideSession } from "./decide-session.js";

const NOW = new Date("2026-01-01T00:00:00Z");
const SECONDS = NOW.getTime() / 1000;

/** A token that expires in so many seconds, made for so many. */
function token(expiresIn: number, lifetime = 900, origin?: string): string {
  const claims = { iat: SECONDS + expiresIn - lifetime, exp: SECONDS + expiresIn, origin };
  return `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.sig`;
}

const [HTTP, HTTPS] = ["http://app.localhost", "https://app.example.com"];

const withCookies = (
  accessToken?: string,
  refreshToken?: string,
  spelling: Spelling = "prefixed",
): Credentials => ({
  authorization: [],
  cookies: { kind: "present", spelling, accessToken, refreshToken },
});
/** Every origin of these tests is served. */
const pages = (appUrl: string) => ({ appUrl, pageOrigins: [HTTP, HTTPS] });
const decide = (credentials: Credentials, appUrl = HTTPS) =>
  decideSession(credentials, pages(appUrl), NOW).kind;

describe("decideSession", () => {
  it.each<[string, Credentials, string]>([
    ["nothing", { authorization: [], cookies: { kind: "none" } }, "anonymous"],
    [
      "cookies that can't be believed",
      { authorization: [], cookies: { kind: "unusable", named: [{ refreshToken: "r" }] } },
      "anonymous",
    ],
    ["a Bearer header", { ...withCookies(undefined, "r"), authorization: ["Bearer x"] }, "bearer"],
    ["any Authorization header", { ...withCookies(token(900), "r"), authorization: ["Basic x"] }, "bearer"],
    ["an empty Authorization header", { ...withCookies(token(900), "r"), authorization: [""] }, "bearer"],
    ["two Authorization headers", { ...withCookies(), authorization: ["Bearer a", "Bearer a"] }, "reject"],
    ["a fresh token", withCookies(token(900), "r"), "use"],
    ["31 s left", withCookies(token(31), "r"), "use"],
    ["30 s left", withCookies(token(30), "r"), "renew"],
    ["30 s left and nothing to refresh with", withCookies(token(30)), "use"],
    ["expired", withCookies(token(-1), "r"), "renew"],
    ["expired and nothing to refresh with", withCookies(token(-1)), "anonymous"],
    ["missing", withCookies(undefined, "r"), "renew"],
    ["malformed", withCookies("garbage", "r"), "renew"],
    ["malformed and nothing to refresh with", withCookies("garbage"), "anonymous"],
    ["without expiry", withCookies("e30.e30.sig", "r"), "renew"],
    ["3 of 4 s left", withCookies(token(3, 4), "r"), "use"],
    ["2 of 4 s left", withCookies(token(2, 4), "r"), "renew"],
    ["29 of 58 s left", withCookies(token(29, 58), "r"), "renew"],
    ["31 of 60 s left", withCookies(token(31, 60), "r"), "use"],
    ["only an expTime", withCookies(), "anonymous"],
  ])("%s: %#", (_what, credentials, kind) => {
    expect(decide(credentials)).toBe(kind);
  });

  it.each<[string, string, string | undefined, Spelling, string]>([
    ["the app's own, on https", HTTPS, undefined, "plain", "anonymous"],
    ["the app's own, on https", HTTPS, undefined, "prefixed", "use"],
    ["the app's own, on http", HTTP, undefined, "plain", "use"],
    ["an app on http beside it", HTTPS, HTTP, "plain", "use"],
    ["an app on https beside one on http", HTTP, HTTPS, "plain", "anonymous"],
    ["an app on https beside one on http", HTTP, HTTPS, "prefixed", "use"],
  ])("for %s: %#", (_whose, appUrl, origin, spelling, kind) => {
    expect(decide(withCookies(token(900, 900, origin), "r", spelling), appUrl)).toBe(kind);
    const renewing = kind === "use" ? "renew" : kind;
    expect(decide(withCookies(token(-1, 900, origin), "r", spelling), appUrl)).toBe(renewing);
  });

  it("leaves plain cookies that name no origin to be judged after the renewal", () => {
    const decision = decideSession(withCookies(undefined, "r", "plain"), pages(HTTPS), NOW);
    expect(decision).toEqual({ kind: "renew", refreshToken: "r", spelling: "plain", until: undefined });
  });

  it("keeps a token that is about to expire for when the renewal is put off, and no other", () => {
    const until = (accessToken: string) => {
      const decision = decideSession(withCookies(accessToken, "r"), pages(HTTPS), NOW);
      return decision.kind === "renew" && decision.until?.accessToken;
    };
    expect([token(30), token(1)].map(until)).toEqual([token(30), token(1)]);
    expect([token(0), token(-1), "garbage"].map(until)).toEqual([undefined, undefined, undefined]);
  });

  it("takes a session for an origin that is not served for none", () => {
    const gone = token(900, 900, "https://gone.example");
    expect(decideSession(withCookies(gone, "r"), pages(HTTPS), NOW)).toMatchObject({
      kind: "renew",
      until: undefined,
    });
    expect(decide(withCookies(gone))).toBe("anonymous");
    const bearer = (text: string) => decide({ authorization: [text], cookies: { kind: "none" } });
    expect([gone, token(900), "svc_pat_abc"].map((text) => bearer(`Bearer ${text}`))).toEqual([
      "unserved",
      "bearer",
      "bearer",
    ]);
  });

  it("tells for which origin the session was made", () => {
    expect(decideSession(withCookies(token(900, 900, HTTP)), pages(HTTPS), NOW)).toMatchObject({
      origin: HTTP,
    });
  });
});
