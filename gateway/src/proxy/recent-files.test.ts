// Which answers are kept, for which requests they are looked up, and how many there are.
import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { describe, expect, it } from "@jest/globals";
import type { AnswerHead } from "./decide-answer.js";
import { type FileAnswer, type FindFile, keepRecentFiles } from "./recent-files.js";

const CALL = { method: "GET", path: "/assets/1" };
const HEAD = { etag: '"a"', "content-type": "image/png", "content-length": "3" };
const BODY = Buffer.from("abc");

function answerWith(head: AnswerHead, body: Readable = Readable.from([BODY])): FileAnswer {
  return Object.assign(body, head);
}

/** Lets an answer pass by. */
async function pass(find: FindFile, path: string, head: AnswerHead, query = ""): Promise<void> {
  const answer = answerWith(head);
  find({ method: "GET", path }, query, {})?.keep(answer);
  await finished(answer.resume());
}

const WHOLE = { statusCode: 200, headers: HEAD };

const isKnown = (find: FindFile, path: string, query = ""): boolean =>
  find({ method: "GET", path }, query, {})?.known !== undefined;

describe("an answer", () => {
  it("is kept with its tag, type and length", async () => {
    const find = keepRecentFiles();
    const headers = { ...HEAD, "content-security-policy": "x" };
    await pass(find, "/assets/1", { statusCode: 200, headers }, "?width=9");
    expect(find(CALL, "?width=9", {})?.known).toEqual({
      etag: '"a"',
      headers: { "content-type": "image/png", "content-length": "3" },
      body: BODY,
    });
  });

  it("is found at its own address alone", async () => {
    const find = keepRecentFiles();
    await pass(find, "/assets/1", WHOLE);
    expect([isKnown(find, "/assets/1", "?width=9"), isKnown(find, "/assets/2")]).toEqual([false, false]);
  });

  it("is not kept before it has ended", async () => {
    const find = keepRecentFiles();
    const answer = answerWith(WHOLE, new Readable({ read() {} }));
    find(CALL, "", {})?.keep(answer);
    answer.push(BODY.subarray(0, 1));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isKnown(find, "/assets/1")).toBe(false);
    answer.push(BODY.subarray(1));
    answer.push(null);
    await finished(answer);
    expect(find(CALL, "", {})?.known?.body).toEqual(BODY);
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
  ])("that is %s: kept or not", async (_what, statusCode, headers, kept) => {
    const find = keepRecentFiles();
    await pass(find, "/assets/1", { statusCode, headers });
    expect(isKnown(find, "/assets/1")).toBe(kept);
  });
});

describe("memory", () => {
  it("is made by the files that were asked for longest ago", async () => {
    const find = keepRecentFiles(2_100);
    const paths = ["/assets/1", "/assets/2", "/assets/3"];
    for (const path of paths) await pass(find, path, WHOLE);
    expect(paths.map((path) => isKnown(find, path))).toEqual([false, true, true]);
  });

  it("is not filled with tiny files at a great many addresses", async () => {
    const find = keepRecentFiles(100_000);
    const queries = Array.from({ length: 1_000 }, (_, at) => `?${"x".repeat(200)}${at}`);
    for (const query of queries) await pass(find, "/assets/1", WHOLE, query);
    expect(queries.filter((query) => isKnown(find, "/assets/1", query)).length).toBeLessThan(100);
  });

  it("holds no address that somebody has made up at length", () => {
    expect(keepRecentFiles()(CALL, `?${"x".repeat(300)}`, {})).toBeUndefined();
  });

  it("is not taken by answers that do not end, and free again after they have", async () => {
    const find = keepRecentFiles();
    const headers = { ...HEAD, "content-length": String(256 * 1024) };
    const slow = Array.from({ length: 32 }, () =>
      answerWith({ statusCode: 200, headers }, new Readable({ read() {} })),
    );
    for (const [at, answer] of slow.entries()) find(CALL, `?${at}`, {})?.keep(answer);
    await pass(find, "/assets/2", WHOLE);
    expect(isKnown(find, "/assets/2")).toBe(false);
    slow[0]?.destroy();
    await finished(slow[0] ?? Readable.from([])).catch(() => {});
    await pass(find, "/assets/2", WHOLE);
    expect(isKnown(find, "/assets/2")).toBe(true);
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
