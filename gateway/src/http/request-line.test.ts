// Methods and targets: which are passed on, and as what.
import { describe, expect, it } from "@jest/globals";
import { judgeRequestLine, type RequestLine } from "./request-line.js";

const GOOD: RequestLine = {
  method: "GET",
  httpVersion: "1.1",
  target: "/api/posts",
  host: ["localhost:3000"],
  transferEncoding: [],
  upgrade: [],
};
const judge = (part: Partial<RequestLine>) => judgeRequestLine({ ...GOOD, ...part });

describe("judgeRequestLine", () => {
  it.each<[string, readonly string[], string]>([
    ["/", [], ""],
    ["/api/posts", ["api", "posts"], ""],
    ["/api/posts/", ["api", "posts"], ""],
    ["/api/a%20b?x=%zz&&", ["api", "a b"], "?x=%zz&&"],
    ["/api/posts?", ["api", "posts"], "?"],
    ["/a...b/..c/d..", ["a...b", "..c", "d.."], ""],
    ["/%C3%A4", ["ä"], ""],
    ["/x?redirect=//evil.com/..", ["x"], "?redirect=//evil.com/.."],
  ])("takes %s apart", (target, segments, query) => {
    expect(judge({ target })).toEqual({ kind: "fine", segments, query });
  });

  it.each([
    "",
    "*",
    "api",
    "http://evil.com/",
    "//evil.com",
    "/\\evil.com",
    "/a//b",
    "/a//",
    "/.",
    "/..",
    "/a/../b",
    "/%2e",
    "/.%2E/b",
    "/a%2fb",
    "/a%5Cb",
    "/a%00",
    "/a%1F",
    "/a\u007f",
    "/a\u0000",
    "/ä",
    "/%",
    "/%g1",
    "/%ff",
    "/a#b",
    "/a?b#c",
  ])("refuses the target %p", (target) => {
    expect(judge({ target })).toMatchObject({ kind: "refused", code: "BAD_REQUEST" });
  });

  it.each<[string, Partial<RequestLine>, string]>([
    ["no Host", { host: [] }, "BAD_REQUEST"],
    ["two Hosts", { host: ["a", "a"] }, "BAD_REQUEST"],
    ["an empty Host", { host: [""] }, "BAD_REQUEST"],
    ["a Host with a path", { host: ["a/b"] }, "BAD_REQUEST"],
    ["a Host with user info", { host: ["a@b"] }, "BAD_REQUEST"],
    ["HTTP/1.0", { httpVersion: "1.0" }, "BAD_REQUEST"],
    ["HTTP/0.9", { httpVersion: "0.9" }, "BAD_REQUEST"],
    ["two codings", { transferEncoding: ["gzip, chunked"] }, "BAD_REQUEST"],
    ["two lines of coding", { transferEncoding: ["chunked", "chunked"] }, "BAD_REQUEST"],
    ["identity", { transferEncoding: ["identity"] }, "BAD_REQUEST"],
    ["an upgrade", { upgrade: ["websocket"] }, "BAD_REQUEST"],
    ["an upgrade beside h2c", { upgrade: ["h2c, websocket"] }, "BAD_REQUEST"],
    ["TRACE", { method: "TRACE" }, "METHOD_NOT_ALLOWED"],
    ["CONNECT", { method: "CONNECT" }, "METHOD_NOT_ALLOWED"],
  ])("refuses %s", (_what, part, code) => {
    expect(judge(part)).toMatchObject({ kind: "refused", code });
  });

  it.each<Partial<RequestLine>>([
    { transferEncoding: ["Chunked"] },
    { host: ["[::1]:3000"] },
    { host: ["app.example.com"] },
    { upgrade: ["h2c"] },
    { method: "QUERY" },
  ])("takes %p", (part) => {
    expect(judge(part).kind).toBe("fine");
  });
});
