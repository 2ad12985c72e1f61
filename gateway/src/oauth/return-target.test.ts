// Where a sign-in may lead back to (contract 3.4).
import { describe, expect, it } from "@jest/globals";
import { readRedirect, readReturnTarget } from "./return-target.js";

const ORIGINS = ["http://localhost:3000", "https://chat.example.com"];
const read = (redirect?: string, cookieBridgePrefix?: string, prefixes = new Map<string, string>()) =>
  readReturnTarget({ redirect, cookieBridgePrefix }, ORIGINS, prefixes);

// The hostile cases are in test/corpora/redirects.json, which runs against the whole system.
describe("readReturnTarget", () => {
  it("gives the canonical address, its origin, and /api where no prefix is named", () => {
    expect(read("https://chat.example.com")).toEqual({
      kind: "fine",
      value: {
        redirect: "https://chat.example.com/",
        origin: "https://chat.example.com",
        bridgePrefix: "/api",
      },
    });
  });

  it.each([
    ["?error=access_denied", ""],
    ["?a=%20b&error=email_in_use&c=1&error=x#top", "?a=%20b&c=1#top"],
    ["?error", ""],
    ["?myerror=1&errors=2&q=error=", "?myerror=1&errors=2&q=error="],
    ["?", "?"],
  ])("leaves out of %s what the sign-in before has said, and nothing else", (given, kept) => {
    const redirect = `http://localhost:3000/login${kept}`;
    expect(read(`http://localhost:3000/login${given}`)).toMatchObject({ value: { redirect } });
  });

  it.each(["/api", "/portal", "/svc/api", "/a-b_c.d~e", "/a/b/c/d/e/f/g/h"])(
    "takes the prefix %s",
    (prefix) => {
      expect(read("http://localhost:3000/x", prefix)).toMatchObject({ value: { bridgePrefix: prefix } });
    },
  );

  it("takes no other prefix than the one that belongs to an origin", () => {
    const prefixes = new Map([["https://chat.example.com", "/portal"]]);
    const onChat = (prefix?: string) => read("https://chat.example.com/", prefix, prefixes);
    expect(onChat("/portal")).toMatchObject({ value: { bridgePrefix: "/portal" } });
    for (const prefix of ["/~mallory", "/portal/~mallory", undefined])
      expect(onChat(prefix)).toEqual({
        kind: "refused",
        message: "cookieBridgePrefix: must be /portal for https://chat.example.com, as ALLOWED_ORIGINS says",
      });
    expect(read("http://localhost:3000/", "/other", prefixes)).toMatchObject({ kind: "fine" });
  });

  it.each([
    "",
    "/",
    "api",
    "/api/",
    "/a//b",
    "/..",
    "/a/../b",
    "/auth",
    "/a%2fb",
    "/a\\b",
    `/${"a".repeat(128)}`,
  ])("refuses the prefix %j, and says what one looks like", (prefix) => {
    expect(read("http://localhost:3000/x", prefix)).toEqual({
      kind: "refused",
      message: expect.stringMatching(/^cookieBridgePrefix: .* such as \/api or \/svc\/api/),
    });
  });

  it.each([
    [undefined, "is required"],
    ["", "is required"],
    ["/dashboard", "absolute http(s) address"],
    ["https://chat.example.com/ü", "percent-encoded"],
    ["javascript:alert(1)", "http(s)"],
    ["https://me@chat.example.com/", "user name"],
    ["https://chat.example.com:443/", "write it as https://chat.example.com/"],
    ["https://shop.example.com/a", "if it is an app's that proxies the API, add it to ALLOWED_ORIGINS"],
    [`https://chat.example.com/${"a".repeat(2048)}`, "2048"],
    [`https://chat.example.com/?q=${"'".repeat(800)}`, "2048"],
  ])("refuses the redirect %j with a word on what would be right", (redirect, words) => {
    expect(readRedirect(redirect, ORIGINS)).toEqual({
      kind: "refused",
      message: expect.stringContaining(words),
    });
  });

  it("sends who came by another spelling of Portico's own address to the right one", () => {
    expect(readRedirect("http://127.0.0.1:3000/", ["http://localhost:3000"])).toEqual({
      kind: "refused",
      message:
        "redirect: http://127.0.0.1:3000 is not allowed; expected http://localhost:3000; open that address instead, or set APP_URL where http://127.0.0.1:3000 is Portico's own; if it is an app's that proxies the API, add it to ALLOWED_ORIGINS",
    });
  });
});
