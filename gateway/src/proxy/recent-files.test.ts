// Which answers are kept, for which requests they are looked up, and how many there are.
import { describe, expect, it } from "@jest/globals";
import { keepRecentFiles } from "./recent-files.js";

const CALL = { method: "GET", path: "/assets/1" };
const HEAD = { etag: '"a"', "content-type": "image/png", "content-length": "3" };
const BODY = Buffer.from("abc");

/** Whether an answer is found again. */
function isKept(statusCode: number, headers: Record<string, string>): boolean {
  const find = keepRecentFiles();
  find(CALL, "", {})?.keeper({ statusCode, headers })?.(BODY);
  return find(CALL, "", {})?.known !== undefined;
}

describe("an answer", () => {
  it("is kept with its tag, type and length", () => {
    const find = keepRecentFiles();
    find(CALL, "?width=9", {})?.keeper({
      statusCode: 200,
      headers: { ...HEAD, "content-security-policy": "x" },
    })?.(BODY);
    expect(find(CALL, "?width=9", {})?.known).toEqual({
      etag: '"a"',
      headers: { "content-type": "image/png", "content-length": "3" },
      body: BODY,
    });
  });

  it("is found at its own address alone", () => {
    const find = keepRecentFiles();
    find(CALL, "", {})?.keeper({ statusCode: 200, headers: HEAD })?.(BODY);
    expect(find(CALL, "?width=9", {})?.known).toBeUndefined();
    expect(find({ ...CALL, path: "/assets/2" }, "", {})?.known).toBeUndefined();
  });

  it.each([
    ["whole and tagged", 200, HEAD, true],
    ["a part", 206, HEAD, false],
    ["a refusal", 404, HEAD, false],
    ["without a tag", 200, { ...HEAD, etag: "" }, false],
    ["with a weak tag", 200, { ...HEAD, etag: 'W/"a"' }, false],
    ["without a length", 200, { etag: '"a"', "content-type": "image/png" }, false],
    ["empty", 200, { ...HEAD, "content-length": "0" }, false],
    ["as large as it may be", 200, { ...HEAD, "content-length": String(256 * 1024) }, true],
    ["too large", 200, { ...HEAD, "content-length": String(256 * 1024 + 1) }, false],
    ["compressed", 200, { ...HEAD, "content-encoding": "gzip" }, false],
    ["without a type", 200, { etag: '"a"', "content-length": "3" }, false],
  ])("that is %s: kept or not", (_what, status, headers, kept) => {
    expect(isKept(status, headers)).toBe(kept);
  });

  it("goes when newer ones need its room", () => {
    const find = keepRecentFiles(8);
    for (const path of ["/assets/1", "/assets/2", "/assets/3"]) {
      find({ method: "GET", path }, "", {})?.keeper({ statusCode: 200, headers: HEAD })?.(BODY);
    }
    const isThere = (path: string) => find({ method: "GET", path }, "", {})?.known !== undefined;
    expect(["/assets/1", "/assets/2", "/assets/3"].map(isThere)).toEqual([false, true, true]);
  });
});

describe("a request", () => {
  it.each([
    ["HEAD", { ...CALL, method: "HEAD" }, {}],
    ["for a record", { ...CALL, path: "/posts/1" }, {}],
    ["below a file", { ...CALL, path: "/assets/1/x" }, {}],
    ["for a part", CALL, { range: "bytes=0-1" }],
    ["for a part if it is the same", CALL, { range: "bytes=0-1", "if-range": '"a"' }],
    ["from who has it", CALL, { "if-none-match": '"a"' }],
    ["from who had it at a time", CALL, { "if-modified-since": "Thu, 01 Jan 2026 00:00:00 GMT" }],
    ["for one content only", CALL, { "if-match": '"a"' }],
    ["for what is not newer", CALL, { "if-unmodified-since": "Thu, 01 Jan 2026 00:00:00 GMT" }],
  ])("%s is none for a whole file", (_what, call, headers) => {
    expect(keepRecentFiles()(call, "", headers)).toBeUndefined();
  });
});
