// A value of one type as one of another: what is kept, and what is lost.
import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import fc from "fast-check";
import { COLUMN_TYPE_NAMES, COLUMN_TYPES, type ColumnType } from "./column-types.js";
import { convertValue } from "./convert.js";

/** The JSON that comes out, or null; with a star when something of the value is missing in it. */
function converted(json: Json, from: ColumnType, type: ColumnType, values: string[] = []): Json {
  const { value, exact } = convertValue(json, from, { type, values });
  const out = value === undefined ? null : COLUMN_TYPES[type].toJson(value);
  return exact ? out : [out, "*"];
}

describe("a value whose column gets another type", () => {
  it.each<[Json, ColumnType, ColumnType, Json]>([
    ["12", "string", "int", 12],
    [" 7 ", "text", "int", [7, "*"]],
    ["1e3", "json", "decimal", [null, "*"]],
    ["1.10", "string", "float", [1.1, "*"]],
    ["-0.0", "string", "float", [-0, "*"]],
    ["1000000000000000000000000", "string", "float", 1e24],
    ["1e+24", "string", "float", 1e24],
    [" true", "string", "boolean", [true, "*"]],
    [" 2024-02-29 ", "string", "date", ["2024-02-29", "*"]],
    ["19.90", "decimal", "float", [19.9, "*"]],
    ["19.9", "decimal", "float", 19.9],
    ["19.90", "decimal", "decimal", "19.90"],
    ["19", "decimal", "bigint", "19"],
    ["01067", "string", "int", [1067, "*"]],
    ["-007", "string", "bigint", ["-7", "*"]],
    ["007.5", "string", "decimal", ["7.5", "*"]],
    ["00.5", "text", "float", [0.5, "*"]],
    ["01067", "json", "int", [1067, "*"]],
    ["01067", "enum", "int", [1067, "*"]],
    [["007"], "enumList", "bigint", ["7", "*"]],
    ["0", "string", "int", 0],
    ["0.00", "string", "decimal", "0.00"],
    ["0.10", "string", "float", [0.1, "*"]],
    ["1e3", "string", "float", [1000, "*"]],
    ["0e9", "string", "float", [0, "*"]],
    ["1e-999999999", "string", "float", [0, "*"]],
    ["0.1234567890123456789", "string", "float", [0.12345678901234568, "*"]],
    ["9007199254740993", "string", "float", [9007199254740992, "*"]],
    ["9007199254740993", "string", "bigint", "9007199254740993"],
    ["1.5", "string", "int", [null, "*"]],
    ["many", "string", "int", [null, "*"]],
    ["1.5", "string", "float", 1.5],
    ["19.90", "string", "decimal", "19.90"],
    ["true", "string", "boolean", true],
    ["yes", "string", "boolean", [null, "*"]],
    ["2024-02-30", "string", "date", [null, "*"]],
    ["2024-02-29", "string", "datetime", "2024-02-29T00:00:00.000Z"],
    ["2024-02-29T12:00:00.123456Z", "string", "datetime", ["2024-02-29T12:00:00.123Z", "*"]],
    ["2024-02-29T12:00:00.123000Z", "text", "datetime", "2024-02-29T12:00:00.123Z"],
    ["2024-02-29T12:00:00.1+02:00", "json", "datetime", "2024-02-29T10:00:00.100Z"],
    [12, "int", "string", "12"],
    [12, "int", "bigint", "12"],
    [12, "int", "decimal", "12"],
    [12, "int", "float", 12],
    [1, "int", "boolean", true],
    [2, "int", "boolean", [null, "*"]],
    [true, "boolean", "int", 1],
    [1.5, "float", "int", [null, "*"]],
    [2, "float", "int", 2],
    [1e21, "float", "decimal", "1000000000000000000000"],
    [1e21, "float", "bigint", [null, "*"]],
    ["9007199254740993", "bigint", "int", [null, "*"]],
    ["9007199254740993", "bigint", "float", [9007199254740992, "*"]],
    ["9007199254740993", "bigint", "string", "9007199254740993"],
    ["19.00", "decimal", "int", [19, "*"]],
    ["19.90", "decimal", "int", [null, "*"]],
    ["2024-05-31", "date", "datetime", "2024-05-31T00:00:00.000Z"],
    ["2024-05-31T00:00:00.000Z", "datetime", "date", "2024-05-31"],
    ["2024-05-31T12:00:00.000Z", "datetime", "date", ["2024-05-31", "*"]],
    ["2024-05-31", "date", "date", "2024-05-31"],
    ["2024-05-31T12:00:00.000Z", "date", "date", ["2024-05-31", "*"]],
    ["0190163d-8694-739b-aea5-966c26f8ad91", "uuid", "string", "0190163d-8694-739b-aea5-966c26f8ad91"],
    ["0190163d-8694-739b-aea5-966c26f8ad91", "string", "uuid", "0190163d-8694-739b-aea5-966c26f8ad91"],
    ["0190163D-8694-739B-AEA5-966C26F8AD91", "string", "uuid", ["0190163d-8694-739b-aea5-966c26f8ad91", "*"]],
    ["0190163D-8694-739B-AEA5-966C26F8AD91", "json", "uuid", ["0190163d-8694-739b-aea5-966c26f8ad91", "*"]],
    ["6B0A2B0EFFFFFFFFFFFFB402", "text", "objectId", ["6b0a2b0effffffffffffb402", "*"]],
    ["6b0a2b0effffffffffffb402", "text", "objectId", "6b0a2b0effffffffffffb402"],
    [{ a: [1] }, "json", "string", ['{"a":[1]}', "*"]],
    [["a", "b"], "json", "text", ['["a","b"]', "*"]],
    [5, "json", "string", ["5", "*"]],
    ["5", "json", "string", "5"],
    ["x", "string", "json", "x"],
    [5, "json", "int", 5],
    ["5", "json", "int", [5, "*"]],
    [true, "json", "boolean", true],
    ["true", "json", "boolean", [true, "*"]],
    [12.5, "json", "float", 12.5],
    [12.5, "json", "decimal", ["12.5", "*"]],
    [12, "json", "bigint", ["12", "*"]],
    ["12.5", "json", "decimal", "12.5"],
    [["x"], "json", "int", [null, "*"]],
    // What another program has left in the place of a number or a truth value.
    ["many", "int", "int", [null, "*"]],
    ["many", "float", "int", [null, "*"]],
    ["", "float", "int", [null, "*"]],
    ["", "int", "float", [null, "*"]],
    [" 1e3 ", "int", "float", [1000, "*"]],
    ["1e-999999999", "decimal", "int", [null, "*"]],
    ["0x10", "float", "int", [null, "*"]],
    ["007", "float", "int", [7, "*"]],
    ["7", "float", "int", 7],
    [true, "float", "int", [null, "*"]],
    [{ a: 1 }, "decimal", "int", [null, "*"]],
    [`1${"0".repeat(400)}`, "decimal", "int", [null, "*"]],
    [1, "boolean", "int", 1],
    [2, "boolean", "bigint", "2"],
    [2.5, "boolean", "int", [null, "*"]],
    ["yes", "boolean", "int", [null, "*"]],
  ])("%j of %s becomes as %s %j", (json, from, to, expected) => {
    expect(converted(json, from, to)).toEqual(expected);
  });

  it.each(COLUMN_TYPE_NAMES)("is lost as %s where JSON has no word for it, such as NaN", (type) => {
    expect(converted(COLUMN_TYPES.float.toJson(Number.NaN), "float", type, ["null"])).toEqual([null, "*"]);
    expect(converted(COLUMN_TYPES.datetime.toJson(new Date(Number.NaN)), "datetime", type)).toEqual([
      null,
      "*",
    ]);
  });

  it("is kept by an enum that has it, and by a list of enums as far as it has it", () => {
    expect(converted("a", "string", "enum", ["a"])).toBe("a");
    expect(converted("b", "enum", "enum", ["a"])).toEqual([null, "*"]);
    expect(converted("a", "enum", "enumList", ["a"])).toEqual(["a"]);
    expect(converted(["a", "b"], "enumList", "enumList", ["a"])).toEqual([["a"], "*"]);
    expect(converted(["a"], "enumList", "enum", ["a"])).toBe("a");
    expect(converted(["a", "b"], "enumList", "enum", ["a", "b"])).toEqual([null, "*"]);
  });

  it("is a list of enums as well where it is the text of one, and in full where it is written as that", () => {
    const values = ["a", "b", "[]", "5"];
    expect(converted('["a","b"]', "string", "enumList", values)).toEqual(["a", "b"]);
    expect(converted('["a", "b"]', "text", "enumList", values)).toEqual([["a", "b"], "*"]);
    expect(converted('["a","c"]', "string", "enumList", values)).toEqual([["a"], "*"]);
    expect(converted('["a"]', "json", "enumList", values)).toEqual([["a"], "*"]);
    expect(converted('["c"]', "string", "enumList", values)).toEqual([null, "*"]);
    expect(converted('["a"', "string", "enumList", values)).toEqual([null, "*"]);
    expect(converted("[]", "string", "enumList", values)).toEqual(["[]"]);
    expect(converted("[]", "string", "enumList", ["a"])).toEqual([]);
    expect(converted(5, "json", "enumList", values)).toEqual([["5"], "*"]);
    expect(converted(5, "int", "enumList", values)).toEqual(["5"]);
  });

  it.each<[Json]>([[[]], [["a"]], [["b", "a"]]])("comes back from text as the list of enums %j", (list) => {
    const text = converted(list, "enumList", "string");
    expect(converted(text, "string", "enumList", ["a", "b"])).toEqual(list);
  });

  it("is null, and no empty list, where a list of enums has none of it", () => {
    expect(converted("b", "string", "enumList", ["a"])).toEqual([null, "*"]);
    expect(converted("", "string", "enumList", ["a"])).toEqual([null, "*"]);
    expect(converted(["b", "c"], "enumList", "enumList", ["a"])).toEqual([null, "*"]);
    expect(converted([], "enumList", "enumList", ["a"])).toEqual([]);
    expect(converted([], "json", "enumList", ["a"])).toEqual([]);
  });

  it("is itself in its own type, and comes back from text, whatever it is", () => {
    const json: Record<string, fc.Arbitrary<Json>> = {
      int: fc.maxSafeInteger(),
      float: fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
      bigint: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
      boolean: fc.boolean(),
      datetime: fc
        .date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
        .map((date) => date.toISOString()),
      string: fc.string({ unit: "grapheme" }),
    };
    for (const [type, values] of Object.entries(json)) {
      const name = COLUMN_TYPE_NAMES.find((each) => each === type) ?? "json";
      fc.assert(
        fc.property(values, (value) => {
          expect(converted(value, name, name)).toEqual(value);
          const { value: asText } = convertValue(value, name, { type: "text", values: [] });
          expect(converted(String(asText), "text", name)).toEqual(value);
        }),
        { numRuns: 200 },
      );
    }
  });
});
