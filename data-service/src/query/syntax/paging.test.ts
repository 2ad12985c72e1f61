// limit, page and meta (contract 4.4).
import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import { refusalOf } from "../library-fixture.js";
import { parseMeta, parsePaging } from "./paging.js";

const at = (name: string): string => name;
const refusalsOf = (value: Json) =>
  [{ limit: value }, { page: value }].map((given) => refusalOf(() => parsePaging(given, at, undefined)));

describe("limit and page", () => {
  it.each<[given: { limit?: Json; page?: Json }, maxLimit: number | undefined, paging: object]>([
    [{}, undefined, { limit: 10, skip: 0 }],
    [{ limit: 3, page: 2 }, undefined, { limit: 3, skip: 3 }],
    [{ limit: 3, page: 4 }, undefined, { limit: 3, skip: 9 }],
    [{ page: 3 }, undefined, { limit: 10, skip: 20 }],
    [{ limit: 0 }, undefined, { limit: 0, skip: 0 }],
    [{ limit: 5 }, 5, { limit: 5, skip: 0 }],
    [{}, 5, { limit: 5, skip: 0 }],
    [{}, 1_000, { limit: 10, skip: 0 }],
  ])("%j with the maximum %p", (given, maxLimit, paging) => {
    expect(parsePaging(given, at, maxLimit)).toEqual(paging);
  });

  it("a later page of an unlimited list is past the end", () => {
    expect(parsePaging({ limit: 0, page: 2 }, at, undefined).skip).toBeGreaterThan(1e15);
  });

  it("a page beyond what a number holds is past the end, and can be counted with", () => {
    const { limit, skip } = parsePaging({ limit: 1_000, page: 9_007_199_254_740_991 }, at, undefined);
    expect([skip > 1e15, Number.isSafeInteger(skip + limit)]).toEqual([true, true]);
  });

  it("the second page of the greatest limit is past the end as well", () => {
    const { limit, skip } = parsePaging({ limit: Number.MAX_SAFE_INTEGER, page: 2 }, at, undefined);
    expect([skip > 1e15, limit > 0, Number.isSafeInteger(skip + limit)]).toEqual([true, true, true]);
  });

  it.each<Json>(["-1", -1, "1.5", 1.5, "", " 1", "1e2", "0x1", "NaN", "１", null, true, [], {}])(
    "refuses %j",
    (value) => {
      expect(refusalsOf(value)).toEqual([
        "limit: must be a whole number from 0",
        "page: must be a whole number from 1",
      ]);
    },
  );

  it.each<Json>([2 ** 53, 1e20, 1e300])(
    "refuses %j, which is too large, with the largest number",
    (value) => {
      expect(refusalsOf(value)).toEqual([
        "limit: must be a whole number from 0 to 9007199254740991",
        "page: must be a whole number from 1 to 9007199254740991",
      ]);
    },
  );

  it.each<Json>(["5", "0", "99999999999999999999"])("refuses %j, which is no number in JSON", (value) => {
    expect(refusalsOf(value)).toEqual([
      "limit: must be a whole number from 0, without quotes in JSON",
      "page: must be a whole number from 1, without quotes in JSON",
    ]);
  });

  it.each<[given: { limit?: Json; page?: Json }, maxLimit: number | undefined, message: string]>([
    [{ page: 0 }, undefined, "page: must be a whole number from 1"],
    [{ limit: 6 }, 5, "limit: is above the maximum of 5"],
    [{ limit: 1e20 }, 5, "limit: must be a whole number from 0 to 5"],
    [{ limit: 0 }, 5, "limit: 0 means all, which is more than the maximum of 5"],
  ])("refuses %j with the maximum %p", (given, maxLimit, message) => {
    expect(refusalOf(() => parsePaging(given, at, maxLimit))).toBe(message);
  });
});

describe("meta", () => {
  it.each<[given: Json | undefined, keys: string[]]>([
    [undefined, []],
    ["totalCount", ["totalCount"]],
    ["filterCount, totalCount", ["totalCount", "filterCount"]],
    ["*", ["totalCount", "filterCount"]],
    ["*,totalCount", ["totalCount", "filterCount"]],
    [["filterCount"], ["filterCount"]],
  ])("%j", (given, keys) => {
    expect(parseMeta(given)).toEqual(keys);
  });

  it.each<[given: Json, problem: string]>([
    ["", '"" is not known; use totalCount, filterCount or *'],
    ["totalcount", '"totalcount" is not known; use totalCount, filterCount or *'],
    [["totalCount", 5], '"5" is not known; use totalCount, filterCount or *'],
    [5, "must be totalCount, filterCount or *"],
    [{}, "must be totalCount, filterCount or *"],
    [Array(4).fill("totalCount").join(","), "names a count more than once"],
  ])("refuses %j", (given, problem) => {
    expect(refusalOf(() => parseMeta(given))).toBe(`meta: ${problem}`);
  });
});
