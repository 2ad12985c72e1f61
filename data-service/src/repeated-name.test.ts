import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { repeatedName } from "./repeated-name.js";

const placeIn = (text: string): string | undefined => repeatedName(text, JSON.parse(text));

describe("a repeated name", () => {
  it.each([
    ['{"title":{"_eq":"a"},"title":{"_is_null":true}}', "title"],
    ['{"a":1,"b":{"c":[{"d":1},{"d":1,"d":2}]}}', "b.c[1].d"],
    ['[{"a":1},{"a":1,"b":2,"a":1}]', "[1].a"],
    [String.raw`{"a":1,"\u0061":2}`, "a"],
    [String.raw`{"say \"a\":":1,"x":{"\\":1,"\\":2}}`, "x.\\"],
    ['{"__proto__":1,"__proto__":2}', "__proto__"],
    ['{ "a" : {} , "a" : {} }', "a"],
  ])("is found in %s", (text, place) => {
    expect(placeIn(text)).toBe(place);
  });

  it.each(['{"a":{"a":{"a":1}}}', '[{"a":1},{"a":2}]', '{"a":"b\\":\\"a","b":":"}', '"a:b"', "[]", "1"])(
    "is not one in another object, or inside of a text: %s",
    (text) => {
      expect(placeIn(text)).toBeUndefined();
    },
  );

  it("is not found in what JSON.stringify writes, and found where a member is written once more", () => {
    fc.assert(
      fc.property(fc.json(), fc.string(), fc.jsonValue(), (text, name, value) => {
        expect(placeIn(text)).toBeUndefined();
        const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
        expect(placeIn(`[${text},{${member},"other${name.length}":1,${member}}]`)).toBe(`[1].${name}`);
      }),
    );
  });
});
