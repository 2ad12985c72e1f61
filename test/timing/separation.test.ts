// How well two sets of times can be told apart, checked by examples.
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { median, separation } from "./separation.js";

describe("separation", () => {
  it.each<[string, number[], number[], number]>([
    ["groups that do not overlap", [1, 2, 3], [4, 5], 1],
    ["the same the other way round", [4, 5], [1, 2, 3], 1],
    ["groups that are alike", [1, 2, 3], [1, 2, 3], 0.5],
    ["nothing but ties", [7, 7, 7], [7, 7], 0.5],
    ["interleaved ones", [1, 3], [2, 4], 0.75],
    ["ones that share a time", [1, 2], [2, 3], 0.875],
    ["one each", [2], [1], 1],
  ])("of %s", (_what, one, other, auc) => {
    expect(separation(one, other).auc).toBe(auc);
  });

  it("is what comparing every pair gives", () => {
    const times = fc.array(fc.nat(9), { minLength: 1, maxLength: 30, size: "max" });
    fc.assert(
      fc.property(times, times, (one, other) => {
        const won: number[] = one.flatMap((a) => other.map((b) => (a > b ? 1 : a === b ? 0.5 : 0)));
        const area = won.reduce((sum, each) => sum + each, 0) / won.length;
        expect(separation(one, other).auc).toBeCloseTo(Math.max(area, 1 - area), 10);
      }),
    );
  });

  it("tells what noise alone makes of it", () => {
    expect(separation(Array(1000).fill(1), Array(1000).fill(1)).error).toBeCloseTo(0.0129, 4);
    expect(separation([1], [2]).error).toBeCloseTo(0.5, 10);
  });

  it("is not asked of nothing", () => {
    expect(() => separation([], [1])).toThrow("neither empty");
  });
});

describe("median", () => {
  it.each<[number[], number]>([
    [[3], 3],
    [[9, 1], 5],
    [[10, 9, 1], 9],
    [[4, 1, 3, 2], 2.5],
  ])("of %j is %d", (values, middle) => {
    expect(median(values)).toBe(middle);
  });
});
