// Which part of a file a request is given (RFC 9110, section 14).
import { describe, expect, it } from "@jest/globals";
import { chooseRange, failedCondition } from "./byte-range.js";

const VALIDATORS = { etag: '"abc"', lastModified: new Date("2026-01-02T03:04:05.678Z") };
const choose = (range?: string, condition?: string, size = 100) =>
  chooseRange(
    {
      ...(range === undefined ? {} : { range }),
      ...(condition === undefined ? {} : { "if-range": condition }),
    },
    size,
    VALIDATORS,
  );

describe("chooseRange", () => {
  it.each([
    [undefined, "whole"],
    ["bytes=0-9", { start: 0, end: 9 }],
    ["bytes=90-200", { start: 90, end: 99 }],
    ["bytes=-1", { start: 99, end: 99 }],
    ["bytes=-1000", { start: 0, end: 99 }],
    ["bytes=5-", { start: 5, end: 99 }],
    ["bytes=0-4,5-9", { start: 0, end: 9 }],
    ["bytes=0-1,50-51", "whole"],
    ["bytes=100-", "unsatisfiable"],
    ["bytes=9-5", "whole"],
    ["bytes=0-1,9-5", "whole"],
    ["bytes=200-300", "unsatisfiable"],
    ["bytes=x-y", "whole"],
    ["bytes=-0", "unsatisfiable"],
    ["chars=0-1", "whole"],
    ["nonsense", "whole"],
  ])("of 100 bytes %p is %j", (range, verdict) => {
    expect(choose(range)).toEqual(verdict);
  });

  it("of a header as long as one may be, all of it digits, is known at once", () => {
    const begun = performance.now();
    expect(choose(`bytes=${"1".repeat(32_000)}`)).toBe("whole");
    expect(performance.now() - begun).toBeLessThan(200);
  });

  it("of nothing no part can be had", () => {
    expect([choose("bytes=0-", undefined, 0), choose("bytes=-1", undefined, 0)]).toEqual([
      ...["unsatisfiable", "unsatisfiable"],
    ]);
  });

  it.each([
    ['"abc"', true],
    ['"other"', false],
    ['W/"abc"', false],
    // Content may have been replaced within that second.
    ["Fri, 02 Jan 2026 03:04:05 GMT", false],
    ["some time", false],
  ])("If-Range %p holds: %p", (condition, holds) => {
    expect(choose("bytes=0-0", condition)).toEqual(holds ? { start: 0, end: 0 } : "whole");
  });
});

describe("failedCondition", () => {
  it.each([
    [{}, undefined],
    [{ "if-match": '"abc"' }, undefined],
    [{ "if-match": '"x", "abc"' }, undefined],
    [{ "if-match": '"x,y","abc",' }, undefined],
    [{ "if-match": "*" }, undefined],
    [{ "if-match": '"x"' }, "If-Match"],
    [{ "if-match": 'W/"abc"' }, "If-Match"],
    [{ "if-unmodified-since": "Fri, 02 Jan 2026 03:04:05 GMT" }, undefined],
    [{ "if-unmodified-since": "Fri, 02 Jan 2026 03:04:04 GMT" }, "If-Unmodified-Since"],
    [{ "if-unmodified-since": "Friday, 02-Jan-26 03:04:05 GMT" }, undefined],
    [{ "if-unmodified-since": "Friday, 02-Jan-26 03:04:04 GMT" }, "If-Unmodified-Since"],
    [{ "if-unmodified-since": "Fri Jan  2 03:04:05 2026" }, undefined],
    [{ "if-unmodified-since": "Fri Jan  2 03:04:04 2026" }, "If-Unmodified-Since"],
    [{ "if-unmodified-since": "some time" }, undefined],
    [{ "if-unmodified-since": "5" }, undefined],
    [{ "if-match": '"abc"', "if-unmodified-since": "Fri, 02 Jan 2026 03:04:04 GMT" }, undefined],
  ])("of %j is %p", (headers, failed) => {
    expect(failedCondition(headers, VALIDATORS)).toBe(failed);
  });
});
