// Which versions If-Match names (RFC 9110, sections 8.8.3 and 13.1.1).
import { describe, expect, it } from "@jest/globals";
import { Decimal128, Long } from "bson";
import { countIn, expectedVersions } from "./version.js";

describe("If-Match", () => {
  it.each([
    [undefined, undefined],
    [" * ", undefined],
    ['"3-k2d0a"', [3]],
    ['"3-k2d0a" ,"12-x"', [3, 12]],
    ['W/"3-k2d0a"', ["weak"]],
    ['"abc"', ["none"]],
    ['""', ["none"]],
    // More digits than a version has.
    ['"1234567890123456-x"', ["none"]],
    // A comma in quotes belongs to the tag.
    ['"a,b"', ["none"]],
    ['"3-k2,d0a","4-x"', [3, 4]],
    // A place in the list may be empty (section 5.6.1).
    ['"3-k2d0a", ', [3]],
    [',, "3-k2d0a",,"4-x"', [3, 4]],
  ])("%j names %j", (header, named) => {
    expect(expectedVersions(header)).toEqual(named);
  });

  it.each([
    "",
    " , ",
    "3-k2d0a",
    '"3-k2d0a',
    '3-k2d0a"',
    '"3-k2d0a""',
    '"3-k2d0a""4-x"',
    '"3-k2d0a" "4-x"',
    '"3-k2d0a", 4',
    '"3 k2d0a"',
    '*, "3-k2d0a"',
    'w/"3-k2d0a"',
  ])("%j is refused", (header) => {
    expect(() => expectedVersions(header)).toThrow("If-Match must be * or ETags in quotes");
  });

  it("as long as a header may be is read at once", () => {
    const begun = performance.now();
    for (const part of ['"', ",", " ", '"",', '" ', 'W/"'])
      expect(() => expectedVersions(`${part.repeat(32_000 / part.length)}x`)).toThrow();
    expect(performance.now() - begun).toBeLessThan(500);
  });
});

it.each<[unknown, number]>([
  [undefined, 0],
  [3, 3],
  [Long.fromNumber(3), 3],
  [Decimal128.fromString("3"), 3],
  ["3", 0],
  [[3], 0],
  [true, 0],
])("a count that is stored as %j is %i", (stored, count) => expect(countIn(stored)).toBe(count));
