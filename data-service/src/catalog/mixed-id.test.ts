// Ids of several kinds as text, and back.
import { describe, expect, it } from "@jest/globals";
import { Binary, Decimal128, deserialize, Long, ObjectId, serialize, UUID } from "bson";
import fc from "fast-check";
import { isPlain, mixedIdText, parseMixedId } from "./mixed-id.js";

/** What the driver would hand over for an id that is stored so. */
function stored(value: unknown): unknown {
  return deserialize(serialize({ value })).value;
}

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: length, maxLength: length });

/** Texts that look like ids of other kinds, and any others. */
const texts = fc.oneof(
  fc.string({ unit: "binary" }).filter((each) => each.isWellFormed()),
  hex(24),
  fc.uuid(),
  fc.integer().map(String),
  fc.double({ noNaN: true }).map(String),
  fc.jsonValue().map((each) => JSON.stringify(each)),
  fc.constantFrom("", '"', '""', "{", "{}", "5", "-0", "05", "1e3", "true", "null", '{"$gt":""}'),
);

/** A text that looks like a key with a meaning of its own is refused wherever it stands. */
const harmless = fc.string().filter((each) => !each.includes("__proto__"));

const ids = fc.oneof(
  texts,
  hex(24).map((text) => new ObjectId(text)),
  fc.uuid().map((text) => new UUID(text)),
  fc.integer(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((each) => Long.fromBigInt(each)),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((each) => (Number.isInteger(each) ? each % 2 ** 53 : each) + 0),
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31") }),
  fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => new Binary(bytes)),
  fc.record({ year: fc.integer(), of: hex(24).map((text) => new ObjectId(text)), name: harmless }),
  fc.constant(Decimal128.fromString("1.50")),
);

describe("ids of several kinds as text", () => {
  it("every id has a text that stands for it and for no other", () => {
    fc.assert(
      fc.property(ids, (id) => {
        const value = stored(id);
        const text = mixedIdText(value);
        expect(stored(parseMixedId(String(text)))).toEqual(value);
      }),
      { numRuns: 2_000 },
    );
  });

  it("every text stands for one id, or for none", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const id = parseMixedId(text);
        if (id === undefined) return;
        const again = mixedIdText(stored(id));
        expect(stored(parseMixedId(String(again)))).toEqual(stored(id));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    [new ObjectId("507f1f77bcf86cd799439011"), "507f1f77bcf86cd799439011"],
    ["507f1f77bcf86cd799439011", '"507f1f77bcf86cd799439011"'],
    [5, "5"],
    ["5", '"5"'],
    ["05", "05"],
    ["home", "home"],
    ['"', '"\\""'],
    [1.5, "1.5"],
    [Long.fromString("9007199254740993"), "9007199254740993"],
    [{ year: 2024, month: 5 }, '{"year":2024,"month":5}'],
    [new Date(0), '{"$date":"1970-01-01T00:00:00Z"}'],
  ])("%p is %s", (id, text) => {
    expect(mixedIdText(stored(id))).toBe(text);
  });

  it.each([
    '{"$gt":""}',
    '{"a":{"$ne":1}}',
    '{"$regularExpression":{"pattern":"^a","options":""}}',
    '{"$code":"1"}',
    '{"$minKey":1}',
    '{"$undefined":true}',
    '{"$oid":"short"}',
    '{"_bsontype":"ObjectId"}',
    '{"__proto__":{"a":1}}',
    '{"a":',
    '"half',
    "\ud800",
  ])("%s is no id", (text) => {
    expect(parseMixedId(text)).toBeUndefined();
  });
});

describe("what a document without a field `constructor` seems to have there", () => {
  it("is no id that a condition could name", () => {
    const document: object = {};
    expect(isPlain(document.constructor)).toBe(false);
  });
});
