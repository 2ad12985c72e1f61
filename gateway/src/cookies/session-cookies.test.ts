// Session cookies: their names, both spellings, and which count as none (contract 3.3).
import { createRequire } from "node:module";
import { describe, expect, it } from "@jest/globals";
import cookieParser from "cookie-parser";
import { isSpellingOf, readSessionCookies, type Spelling } from "./session-cookies.js";

// What cookie-parser uses itself, in the version it uses.
const { parse } = createRequire(createRequire(import.meta.url).resolve("cookie-parser"))("cookie");

const read = (header: string | undefined) =>
  readSessionCookies(header, cookieParser.JSONCookies(parse(header ?? "")));
const present = (accessToken?: string, refreshToken?: string, spelling: Spelling = "plain") => ({
  kind: "present",
  spelling,
  accessToken,
  refreshToken,
});

const unusable = (accessTokens: readonly string[] = [], refreshTokens: readonly string[] = []) => ({
  kind: "unusable",
  named: [
    ...accessTokens.map((accessToken) => ({ accessToken })),
    ...refreshTokens.map((refreshToken) => ({ refreshToken })),
  ],
});

describe("readSessionCookies", () => {
  it.each<[string | undefined, unknown]>([
    [undefined, { kind: "none" }],
    ["", { kind: "none" }],
    ["theme=dark; lang=en", { kind: "none" }],
    ["accessToken=a.b.c", present("a.b.c")],
    ["theme=dark;accessToken=a.b.c;  refreshToken=svc_rt_1; expTime=17", present("a.b.c", "svc_rt_1")],
    ["accessToken=; refreshToken=r", present(undefined, "r")],
    ["expTime=17", present()],
    ["__Host-accessToken=a; __Host-refreshToken=r", present("a", "r", "prefixed")],
    // A planted plain cookie does not complete a set of prefixed ones.
    ["__Host-refreshToken=r; accessToken=planted", present(undefined, "r", "prefixed")],
    ["accessToken=planted; accessToken=planted2; __Host-accessToken=a", present("a", undefined, "prefixed")],
    ["accessToken=a; accessToken=a", unusable(["a"])],
    ["accessToken=a; theme=x; accessToken=b", unusable(["a", "b"])],
    ["expTime=1; expTime=2; accessToken=a; refreshToken=r", unusable(["a"], ["r"])],
    ["__Host-accessToken=a; __Host-accessToken=b; accessToken=planted", unusable(["a", "b"])],
    ['accessToken="a"; refreshToken=r', unusable([], ["r"])],
    ["accessToken=a%2Eb", unusable()],
    ["accessToken=a b", unusable()],
    ['refreshToken=j:{"$ne":null}', unusable()],
    ["refreshToken=j:1", unusable([], ["j:1"])],
    ["refreshToken=j:[]", unusable()],
    ["AccessToken=a", { kind: "none" }],
    ["accessToken =a", { kind: "none" }],
    ["\u00a0accessToken=a", { kind: "none" }],
    ["\u2000__Host-accessToken=a", { kind: "none" }],
    ["__host-accessToken=a", { kind: "none" }],
    ["accessToken", { kind: "none" }],
    ["__proto__=x; accessToken=a", present("a")],
  ])("reads %p as %j", (header, expected) => {
    expect(read(header)).toEqual(expected);
  });
});

describe("of many cookies of one name", () => {
  it("the last eight name sessions, none of them too long: those for longer paths come first", () => {
    const values = Array.from({ length: 10 }, (_, at) => `r${at}`);
    const header = [...values, "r".repeat(4_096)].map((value) => `refreshToken=${value}`).join("; ");
    expect(read(header)).toEqual(unusable([], values.slice(2)));
  });
});

describe("isSpellingOf", () => {
  it.each<[Spelling, string, boolean]>([
    ["prefixed", "https://app.example.com", true],
    ["prefixed", "http://localhost:3000", true],
    ["plain", "http://localhost:3000", true],
    ["plain", "https://app.example.com", false],
  ])("%s cookies for %s: %p", (spelling, origin, expected) => {
    expect(isSpellingOf(spelling, origin)).toBe(expected);
  });
});
