// Which route of the API a request is for, as far as the gateway has to know.
import { describe, expect, it } from "@jest/globals";
import { announcesTooMuch } from "@portico/shared/has-body";
import { ignoresCookies, ignoresSession, isClosed, isUnsafe, isUpload, routeKind } from "./api-route.js";
import { bodyLimit } from "./body-limit.js";
import { readTarget } from "./target.js";

describe("API routes", () => {
  it.each([
    ["POST", "/svc_file", true],
    ["PATCH", "/svc_file/1", true],
    ["PATCH", "/svc_file", false],
    ["POST", "/svc_file/1", false],
    ["PATCH", "/svc_file/1/2", false],
    ["POST", "/file", false],
    ["POST", "/svc_folder", false],
    ["GET", "/svc_file", false],
  ])("%s %s is an upload: %p", (method, path, expected) => {
    expect(isUpload({ method, path }, "svc_")).toBe(expected);
  });

  it.each([
    ["POST", "/posts/import", "import"],
    ["GET", "/posts/import", "json"],
    ["POST", "/import", "json"],
    ["POST", "/posts/import/x", "json"],
    ["POST", "/posts", "json"],
    ["POST", "/svc_file", "upload"],
  ])("%s %s takes bodies of the kind %s", (method, path, expected) => {
    expect(routeKind({ method, path }, "svc_")).toBe(expected);
  });

  it("knows the unsafe methods by leaving out the safe ones", () => {
    const methods = ["GET", "HEAD", "OPTIONS", "QUERY", "POST", "PUT", "PATCH", "DELETE", "ANYTHING"];
    expect(methods.filter((method) => isUnsafe({ method, path: "/" }))).toEqual([
      "POST",
      "PUT",
      "PATCH",
      "DELETE",
      "ANYTHING",
    ]);
  });

  it("closes what is not for clients, and frees the sign-in calls from sessions", () => {
    const paths = [
      "/healthz",
      "/readyz",
      "/metrics",
      "/me",
      "/auth/login",
      "/auth/refresh-token",
      "/auth/logout",
      "/internal",
      "/internal/oauth/redeem",
      "/internals",
    ];
    expect(paths.filter((path) => isClosed({ method: "GET", path }))).toEqual([
      "/healthz",
      "/readyz",
      "/metrics",
      "/internal",
      "/internal/oauth/redeem",
    ]);
    expect(paths.filter((path) => ignoresSession({ method: "POST", path }))).toEqual([
      "/auth/login",
      "/auth/refresh-token",
    ]);
    expect(paths.filter((path) => ignoresCookies({ method: "POST", path }))).toEqual(["/auth/logout"]);
  });
});

describe("readTarget", () => {
  it.each([
    ["/api/posts", { path: "/posts", query: "" }],
    ["/api/posts?a=%20&b", { path: "/posts", query: "?a=%20&b" }],
    ["/api/posts?", { path: "/posts", query: "?" }],
    ["/api/api/x", { path: "/api/x", query: "" }],
    ["/api", undefined],
    ["/api?x", undefined],
    ["/apis/x", undefined],
    ["/x/api/y", undefined],
    ["/api//evil.com", undefined],
    ["http://evil.com/api/x", undefined],
  ])("%s gives %j", (url, expected) => {
    expect(readTarget(url)).toEqual(expected);
  });
});

describe("body limits", () => {
  it.each([
    [undefined, false],
    ["0", false],
    ["100", false],
    ["101", true],
    ["99999999999999999999", true],
  ])("Content-Length %p against 100: %p", (length, expected) => {
    expect(announcesTooMuch({ "content-length": length }, 100)).toBe(expected);
  });

  it("leave room around an uploaded file, and an imported one to the data service", () => {
    const limits = { bodyMaxBytes: 10, uploadMaxBytes: 1000 };
    const of = (["json", "upload", "import"] as const).map((kind) => bodyLimit(kind, limits));
    expect(of.map(({ bytes }) => bytes)).toEqual([10, 1000 + 65_536, Number.POSITIVE_INFINITY]);
  });
});
