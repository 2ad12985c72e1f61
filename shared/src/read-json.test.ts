// JSON texts: read as JSON.parse does, but for what would be silently lost.
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { JSON_MAX_LEVELS, readJson } from "./read-json.js";

const TWICE = "is given twice in one object; only one would count";

/** Where a name is given twice. */
function placeIn(text: string): string | undefined {
  const read = readJson(text);
  if (read.kind === "json") return undefined;
  expect(read).toMatchObject({ kind: "refused", problem: { what: TWICE } });
  return read.kind === "refused" ? read.problem.place : undefined;
}

describe("a JSON text", () => {
  it("is read as JSON.parse reads it", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        expect(readJson(text)).toEqual({ kind: "json", json: JSON.parse(text) });
      }),
    );
  });

  it.each(["", "{", "{'a':1}", '{"a":1,}', "[1,]", "undefined", '"\\u12"', "[}"])(
    "%j is malformed",
    (text) => {
      expect(readJson(text).kind).toBe("malformed");
    },
  );

  it.each<[string, (levels: number) => string]>([
    ["objects", (levels) => '{"a":'.repeat(levels) + 1 + "}".repeat(levels)],
    ["lists", (levels) => "[".repeat(levels) + "]".repeat(levels)],
    ["both, behind others", (levels) => `[[[]],${'{"a":['.repeat(levels / 2)}${"]}".repeat(levels / 2)}]`],
  ])("of %s may nest a hundred levels", (_what, text) => {
    const what = "nests deeper than 100 levels";
    expect(readJson(text(JSON_MAX_LEVELS - 2)).kind).toBe("json");
    const refused = { kind: "refused", problem: { place: "", what } };
    expect(readJson(text(JSON_MAX_LEVELS + 2))).toEqual(refused);
    expect(readJson(text(100_000))).toEqual(refused);
  });

  it("may hold any number of brackets in a text", () => {
    const text = JSON.stringify({ a: '[{"'.repeat(1_000) });
    expect(readJson(text).kind).toBe("json");
  });
});

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

  it("is named by its beginning where it is long", () => {
    const name = "x".repeat(400_000);
    expect(placeIn(`{"${name}":1,"${name}":2}`)).toBe("x".repeat(64));
    const deep = `${'{"inside":'.repeat(90)}{"a":1,"a":2}${"}".repeat(90)}`;
    expect(placeIn(deep)).toHaveLength(512);
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
