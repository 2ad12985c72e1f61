// How conditions are put together.
import { describe, expect, it } from "@jest/globals";
import { allOf, MATCH_ALL, MATCH_NONE } from "./document.js";

const [A, B] = [{ a: 1 }, { b: 1 }];

describe("all of some conditions", () => {
  it("leaves out those that say nothing", () => {
    expect(allOf([A, {}, MATCH_ALL, B])).toEqual({ $and: [A, B] });
    expect(allOf([{}, A])).toBe(A);
  });

  it("is the one that matches everything where none says anything", () => {
    expect(allOf([])).toBe(MATCH_ALL);
    expect(allOf([{}])).toBe(MATCH_ALL);
  });

  it("is the one that matches nothing where that is among them", () => {
    expect(allOf([A, MATCH_NONE])).toBe(MATCH_NONE);
  });
});
