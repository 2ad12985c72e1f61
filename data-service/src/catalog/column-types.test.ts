// Every column type: JSON to what is stored and back, and what is refused.
import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import { Binary, Decimal128, Double, deserialize, Long, ObjectId, serialize } from "bson";
import fc from "fast-check";
import { isBinary } from "./bson-json.js";
import { COLUMN_TYPE_NAMES, COLUMN_TYPES, type DeclaredType } from "./column-types.js";

const MEMBERS = ["red", "green", "blue"];

const days = fc
  .date({ min: new Date("0000-01-01"), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true })
  .map((date) => date.toISOString());
const text = fc.string({ unit: "binary" }).filter((each) => each.isWellFormed());
const storable = fc
  .jsonValue({ maxDepth: 5 })
  .filter(
    (value) =>
      value !== null && JSON.stringify(value).isWellFormed() && !JSON.stringify(value).includes("\\u0000"),
  )
  .filter((value) => !JSON.stringify(value).includes("__proto__") && !JSON.stringify(value).includes("-0"));

const unsigned = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 34n - 1n }).map(String),
  fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 8n }), fc.stringMatching(/^(?:0{6,12})?\d{1,13}$/))
    .map((parts) => parts.join(".")),
);
const sign = fc.constantFrom("", "-");
const objectIds = fc.string({
  unit: fc.constantFrom(..."0123456789abcdef"),
  minLength: 24,
  maxLength: 24,
});

/** JSON in the spelling that answers use. */
const CANONICAL: Readonly<Record<DeclaredType, fc.Arbitrary<unknown>>> = {
  string: text,
  text,
  int: fc.maxSafeInteger(),
  boolean: fc.boolean(),
  json: storable,
  bigint: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  float: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  decimal: fc.tuple(sign, unsigned).map((parts) => parts.join("")),
  date: days.map((each) => each.slice(0, 10)),
  datetime: days,
  enum: fc.constantFrom(...MEMBERS),
  enumList: fc.array(fc.constantFrom(...MEMBERS)),
  uuid: fc.uuid(),
  objectId: objectIds,
};

/** Texts in which one character is another. */
const nearly = (type: DeclaredType): fc.Arbitrary<unknown> =>
  fc
    .tuple(CANONICAL[type], fc.nat({ max: 40 }), fc.constantFrom(..."0139-+.:TzAf"))
    .map(([json, at, other]) =>
      typeof json === "string" ? json.slice(0, at) + other + json.slice(at + 1) : json,
    );

/** An instant as a clock shows it that is so many minutes ahead of UTC. */
function elsewhere(time: Date, minutesAhead: number): string {
  const there = new Date(time.getTime() + minutesAhead * 60_000).toISOString().slice(0, -1);
  const far = Math.abs(minutesAhead);
  const [hours, minutes] = [Math.floor(far / 60), far % 60].map((each) => String(each).padStart(2, "0"));
  return `${there}${minutesAhead < 0 ? "-" : "+"}${hours}:${minutes}`;
}

type Spelling = readonly [given: string, answered: string];

const OTHER_SPELLINGS: readonly (readonly [DeclaredType, fc.Arbitrary<Spelling>])[] = [
  ["bigint", fc.maxSafeInteger().map((value) => [String(value).replace(/\d/, "00$&"), String(value)])],
  ["decimal", fc.tuple(sign, unsigned).map(([minus, digits]) => [`${minus}00${digits}`, minus + digits])],
  [
    "datetime",
    fc
      .tuple(
        fc.date({ min: new Date("0001-01-01"), max: new Date("9998-12-31"), noInvalidDate: true }),
        fc.integer({ min: -1439, max: 1439 }),
      )
      .map(([time, minutesAhead]) => [elsewhere(time, minutesAhead), time.toISOString()]),
  ],
  ["uuid", fc.uuid().map((id) => [id.toUpperCase(), id])],
  ["objectId", objectIds.map((id) => [id.toUpperCase(), id])],
];

/** What the database gives back for a value. */
function throughBson(value: unknown): unknown {
  return deserialize(serialize({ value }), { promoteValues: true }).value;
}

describe("every column type", () => {
  it.each(COLUMN_TYPE_NAMES)("%s: what is stored reads as it was written", (type) => {
    const { parse, toJson } = COLUMN_TYPES[type];
    fc.assert(
      fc.property(CANONICAL[type], (json) => {
        const stored = parse(json as Json, MEMBERS);
        expect(stored).toBeDefined();
        expect(toJson(stored)).toEqual(json);
        expect(toJson(throughBson(stored))).toEqual(json);
      }),
    );
  });

  it.each(COLUMN_TYPE_NAMES)("%s: takes no null, and any other JSON or refuses it", (type) => {
    const { parse, toJson } = COLUMN_TYPES[type];
    expect(parse(null, MEMBERS)).toBeUndefined();
    const values = fc.oneof(fc.jsonValue(), CANONICAL[type], nearly(type));
    let taken = 0;
    fc.assert(
      fc.property(values, (json) => {
        const stored = parse(json as Json, MEMBERS);
        if (stored === undefined) return;
        taken += 1;
        expect(parse(toJson(stored), MEMBERS)).toEqual(stored);
      }),
    );
    expect(taken).toBeGreaterThan(0);
  });

  it.each(OTHER_SPELLINGS)("%s: is answered in one spelling, however it was given", (type, spellings) => {
    const { parse, toJson } = COLUMN_TYPES[type];
    fc.assert(
      fc.property(spellings, ([given, answered]) => {
        const stored = parse(given, MEMBERS);
        expect(stored).toEqual(parse(answered, MEMBERS));
        expect(toJson(stored)).toBe(answered);
      }),
    );
  });

  it.each(COLUMN_TYPE_NAMES)("%s: text of an address is the JSON of a value, or nothing", (type) => {
    const { fromText } = COLUMN_TYPES[type];
    const spelled = type === "enumList" || type === "json" ? fc.constant("x") : CANONICAL[type];
    fc.assert(
      fc.property(spelled, (json) => {
        expect(fromText(String(json))).toEqual(json);
      }),
    );
  });
});

describe("NaN and the infinities, which other programs may have stored", () => {
  const numbers = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const stored = numbers.flatMap((each) => [each, new Double(each), Decimal128.fromString(String(each))]);

  it.each(COLUMN_TYPE_NAMES)("%s: are null", (type) => {
    const { toJson } = COLUMN_TYPES[type];
    expect(stored.map(toJson)).toEqual(stored.map(() => null));
    expect(toJson({ a: stored })).toEqual({ a: stored.map(() => null) });
  });
});

it("large numbers of other programs are written in digits as text", () => {
  for (const type of ["bigint", "decimal"] as const)
    expect(COLUMN_TYPES[type].toJson(1e21)).toBe("1000000000000000000000");
});

describe("JSON that a type does not take", () => {
  it.each<[type: DeclaredType, values: readonly Json[]]>([
    ["string", [5, true, [], {}, "\ud800"]],
    ["text", [5, "\udc00x"]],
    ["int", ["5", 1.5, 2 ** 53, -(2 ** 53), true, [5]]],
    ["bigint", [5, "1.0", "", "-", "9223372036854775808", "-9223372036854775809", "1e3", " 1", "0x1"]],
    ["float", ["0.5", true, []]],
    ["decimal", [1.5, "1e3", "NaN", "", `1.${"0".repeat(34)}`]],
    ["boolean", ["true", 1, 0, "false"]],
    ["date", ["2023-02-29", "2024-05-31T00:00:00Z", 0]],
    ["datetime", ["2024-05-31T12:00:00", 0, "now", "9999-12-31T23:59:59-14:00"]],
    ["enum", ["RED", "", "pink", 5, ["red"], "constructor"]],
    ["enumList", ["red", ["pink"], [null], [["red"]], {}]],
    [
      "uuid",
      [
        "0190163d8694739baea5966c26f8ad91",
        "0190163d-8694-739b-aea5-966c26f8ad9",
        5,
        "g190163d-8694-739b-aea5-966c26f8ad91",
      ],
    ],
    ["objectId", ["65a00000000000000000000", "65a00000000000000000000g", 5, "aaaaaaaaaaaa"]],
  ])("%s", (type, values) => {
    for (const value of values)
      expect([value, COLUMN_TYPES[type].parse(value, MEMBERS)]).toEqual([value, undefined]);
  });

  it("date: years of other programs, which may have more than four digits or be before the first", () => {
    const { toJson } = COLUMN_TYPES.date;
    expect(toJson(new Date("+012345-06-07T00:00:00Z"))).toBe("+012345-06-07");
    expect(toJson(new Date("-000001-01-02T00:00:00Z"))).toBe("-000001-01-02");
  });

  it("date: a time of day that another program has stored is shown, for no filter takes it for its day", () => {
    const { toJson } = COLUMN_TYPES.date;
    expect(toJson(new Date("2024-05-31T00:00:00Z"))).toBe("2024-05-31");
    expect(toJson(new Date("1969-12-31T00:00:00Z"))).toBe("1969-12-31");
    for (const time of ["2024-05-31T12:00:00.000Z", "2024-05-30T22:00:00.000Z", "1969-12-31T23:59:59.999Z"])
      expect(toJson(new Date(time))).toBe(time);
  });

  it("json: keys that are more than names, text without meaning, and depth", () => {
    const { parse } = COLUMN_TYPES.json;
    const nest = (levels: number): Json => (levels === 0 ? 1 : [nest(levels - 1)]);
    for (const text of [
      '{"_bsontype":"Long"}',
      '[{"a":{"_bsontype":1}}]',
      '{"__proto__":1}',
      '{"a\\u0000":1}',
      '"\\ud800"',
      '{"\\ud800":1}',
    ]) {
      expect([text, parse(JSON.parse(text), [])]).toEqual([text, undefined]);
    }
    expect(parse(nest(50), [])).toBeDefined();
    expect(parse(nest(51), [])).toBeUndefined();
    expect(parse({ $where: 1, "a.b": 2, constructor: 3 }, [])).toEqual({
      $where: 1,
      "a.b": 2,
      constructor: 3,
    });
  });
});

describe("order, for the rules min and max", () => {
  const compare = (type: DeclaredType, a: Json, b: Json): number => {
    const { parse, compare: order } = COLUMN_TYPES[type];
    const [left, right] = [parse(a, []), parse(b, [])];
    if (left === undefined || right === undefined || order === undefined) throw new Error("no order");
    return Math.sign(order(left, right));
  };
  it.each<[DeclaredType, Json, Json]>([
    ["int", -1, 5],
    ["bigint", "9007199254740992", "9007199254740993"],
    ["float", 0.1, 0.2],
    ["decimal", "9.95", "10.5"],
    ["date", "2023-12-31", "2024-01-01"],
    ["datetime", "2024-01-01T00:00:00+01:00", "2024-01-01T00:00:00Z"],
  ])("%s: %j before %j", (type, a, b) => {
    expect([compare(type, a, b), compare(type, b, a), compare(type, a, a)]).toEqual([-1, 1, 0]);
  });
});

describe("values of BSON inside json", () => {
  it.each<[name: string, stored: unknown, json: Json]>([
    ["a double", new Double(1.5), 1.5],
    ["a 64-bit number", Long.fromString("9007199254740993"), "9007199254740993"],
    ["a decimal", Decimal128.fromString("1E+3"), "1000"],
    ["an id", new ObjectId("65a000000000000000000000"), "65a000000000000000000000"],
    ["a date", new Date("2024-01-01"), "2024-01-01T00:00:00.000Z"],
    ["lists and objects of them", { a: [new Double(1), null] }, { a: [1, null] }],
  ])("%s", (_name, stored, json) => {
    expect(COLUMN_TYPES.json.toJson(stored)).toEqual(json);
  });

  it("bytes are told from all else", () => {
    expect(isBinary(new Binary(Buffer.from("x")))).toBe(true);
    for (const other of [null, undefined, 5, "x", {}, new ObjectId(), Buffer.from("x")])
      expect(isBinary(other)).toBe(false);
  });
});
