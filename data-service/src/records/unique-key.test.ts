// Two values have one key exactly where a unique index of MongoDB would take only one of them.
import { describe, expect, it } from "@jest/globals";
import { Decimal128, Double, Int32, Long, ObjectId, UUID } from "bson";
import { uniqueKey } from "./unique-key.js";

const key = (...values: unknown[]) => uniqueKey(["a", "b"].slice(0, values.length), values);
const decimal = (text: string) => Decimal128.fromString(text);
const ID = "61e8b014acff7fb4f32baed4";

describe("one key", () => {
  it.each<[unknown, unknown]>([
    [decimal("1.0"), decimal("1.00")],
    [decimal("1E+2"), decimal("100.0")],
    [decimal("-0.0"), decimal("0")],
    [new Double(-0), 0],
    [5, Long.fromNumber(5)],
    [new Int32(5), decimal("5.00")],
    [new Double(1e23), decimal("99999999999999991611392")],
    [
      { a: 1, b: [2] },
      { a: Long.fromNumber(1), b: [new Double(2)] },
    ],
    [new ObjectId(ID), new ObjectId(ID)],
    [new Date(5), new Date(5)],
  ])("%j and %j", (one, other) => expect(key(one)).toBe(key(other)));
});

describe("different keys", () => {
  it.each<[unknown, unknown]>([
    [Long.fromString("1234567890123456788"), Long.fromString("1234567890123456789")],
    [Long.fromString("9007199254740993"), 9007199254740992],
    [decimal("0.1"), new Double(0.1)],
    [decimal("10"), decimal("100")],
    [5, "5"],
    [new ObjectId(ID), ID],
    [new UUID("0190163d-8694-739b-aea5-966c26f8ad91"), "0190163d-8694-739b-aea5-966c26f8ad91"],
    [new Date(5), new Date(6)],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [{ a: 1 }, [["a", 1]]],
    [5, { number: "5" }],
  ])("%j and %j", (one, other) => expect(key(one)).not.toBe(key(other)));

  it("of the same values in other fields", () => {
    expect(key("x", "y")).not.toBe(key("y", "x"));
    expect(uniqueKey(["a"], ["x"])).not.toBe(uniqueKey(["b"], ["x"]));
  });
});
