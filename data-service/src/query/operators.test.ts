// Every operator on every column type: what it takes, and what it means (contract 4.1).
import { describe, expect, it } from "@jest/globals";
import type { Json } from "@portico/shared/json";
import type { Column } from "../catalog/catalog.js";
import { COLUMN_TYPE_NAMES, type DeclaredType } from "../catalog/column-types.js";
import { column, refusalOf } from "./library-fixture.js";
import { bindOperator, OPERATORS, operandFromText, operatorsOf } from "./operators.js";

const of = (type: DeclaredType): Column => column(`samples.the_${type}`);

const NULL_TESTS = ["_eq", "_neq", "_is_null", "_is_not_null"];
const EQUALITY = [...NULL_TESTS, "_in", "_not_in", "_nin"];
const ORDER = [...EQUALITY, "_gt", "_gte", "_lt", "_lte", "_between"];
const TEXT = [...ORDER, "_contains", "_icontains", "_starts_with", "_ends_with"];

/** A value of each type, as JSON. */
const VALUES: Readonly<Record<DeclaredType, Json>> = {
  string: "a",
  text: "a",
  int: 1,
  bigint: "1",
  float: 1.5,
  decimal: "1.50",
  boolean: true,
  date: "2024-02-29",
  datetime: "2024-02-29T12:00:00Z",
  enum: "red",
  enumList: ["red"],
  json: { a: 1 },
  uuid: "0190163d-8694-739b-aea5-966c26f8ad91",
  objectId: "65a000000000000000000000",
};

const TAKES: Readonly<Record<DeclaredType, readonly string[]>> = {
  string: TEXT,
  text: TEXT,
  int: ORDER,
  bigint: ORDER,
  float: ORDER,
  decimal: ORDER,
  boolean: EQUALITY,
  date: ORDER,
  datetime: ORDER,
  enum: ORDER,
  uuid: ORDER,
  objectId: ORDER,
  json: NULL_TESTS,
  enumList: [...NULL_TESTS, "_contains", "_icontains"],
};

function operandFor(type: DeclaredType, operator: string): Json {
  const value = VALUES[type];
  if (operator === "_between") return [value, value];
  if (OPERATORS.get(operator)?.operand === "values") return [value];
  if (operator.includes("null")) return true;
  if (type === "enumList") return operator.includes("contains") ? "red" : null;
  return type === "json" ? null : value;
}

/** How a refusal names an operator that another type may take with more than null. */
function spelled(type: DeclaredType): (name: string) => string {
  const isOnlyForNull = (name: string) => /^_n?eq$/.test(name) && ["json", "enumList"].includes(type);
  return (name) => (isOnlyForNull(name) ? `${name} (with null only)` : name);
}

const PAIRS = COLUMN_TYPE_NAMES.flatMap((type) => [...OPERATORS.keys()].map((name) => ({ type, name })));

describe("every operator on every column type", () => {
  it.each(PAIRS.filter(({ type, name }) => TAKES[type].includes(name)))(
    "$type takes $name",
    ({ type, name }) => {
      expect(() => bindOperator(of(type), name, operandFor(type, name), "f")).not.toThrow();
    },
  );

  it.each(PAIRS.filter(({ type, name }) => !TAKES[type].includes(name)))(
    "$type refuses $name",
    ({ type, name }) => {
      expect(refusalOf(() => bindOperator(of(type), name, operandFor(type, name), "f"))).toBe(
        `f: ${/^[aeio]/.test(type) ? "an" : "a"} ${type} column does not take ${name}; it takes ${operatorsOf(of(type)).map(spelled(type)).join(", ")}`,
      );
    },
  );

  it("the refusal of one offers no operand that is refused next", () => {
    expect(refusalOf(() => bindOperator(of("json"), "_gt", 30, "f"))).toBe(
      "f: a json column does not take _gt; it takes _eq (with null only), _neq (with null only), _is_null, _is_not_null",
    );
  });

  it("an encrypted column takes none", () => {
    for (const name of OPERATORS.keys()) {
      expect(refusalOf(() => bindOperator(column("books.royalty"), name, null, "f"))).toBe(
        "f: an encrypted column can't be filtered by",
      );
    }
  });
});

describe("what an operator means", () => {
  const pages = column("books.pages");
  const test = (inner: object) => ({ kind: "test", column: pages, test: inner });
  const not = (inner: object) => ({ kind: "not", of: inner });
  it.each<[name: string, operand: Json, predicate: object]>([
    ["_eq", 5, test({ op: "eq", value: 5 })],
    ["_eq", null, test({ op: "isNull" })],
    ["_neq", 5, not(test({ op: "eq", value: 5 }))],
    ["_neq", null, not(test({ op: "isNull" }))],
    ["_gt", 5, test({ op: "gt", value: 5 })],
    ["_gte", 5, test({ op: "gte", value: 5 })],
    ["_lt", 5, test({ op: "lt", value: 5 })],
    ["_lte", 5, test({ op: "lte", value: 5 })],
    ["_in", [1, 2], test({ op: "in", values: [1, 2] })],
    ["_in", [], { kind: "never" }],
    ["_not_in", [1], not(test({ op: "in", values: [1] }))],
    ["_nin", [1], not(test({ op: "in", values: [1] }))],
    ["_not_in", [], { kind: "always" }],
    ["_between", [1, 2], { kind: "and", of: [test({ op: "gte", value: 1 }), test({ op: "lte", value: 2 })] }],
    ["_is_null", true, test({ op: "isNull" })],
    ["_is_null", false, not(test({ op: "isNull" }))],
    ["_is_not_null", true, not(test({ op: "isNull" }))],
    ["_is_not_null", false, test({ op: "isNull" })],
  ])("%s %j", (name, operand, predicate) => {
    expect(bindOperator(pages, name, operand, "f")).toEqual(predicate);
  });

  it.each([
    ["_contains", "contains"],
    ["_icontains", "contains"],
    ["_starts_with", "startsWith"],
    ["_ends_with", "endsWith"],
  ])("%s searches text", (name, op) => {
    const title = column("books.title");
    expect(bindOperator(title, name, "a.b", "f")).toEqual({
      kind: "test",
      column: title,
      test: { op, text: "a.b" },
    });
  });

  it("_contains asks an enum list for a member", () => {
    const colors = of("enumList");
    const predicate = { kind: "test", column: colors, test: { op: "member", value: "red" } };
    expect(bindOperator(colors, "_contains", "red", "f")).toEqual(predicate);
    expect(refusalOf(() => bindOperator(colors, "_contains", "pink", "f"))).toBe(
      'f: must be one of red, green, not "pink"',
    );
  });
});

describe("operands that do not fit", () => {
  it.each<[type: DeclaredType, name: string, operand: Json, problem: string]>([
    ["int", "_eq", "5", 'f: must be a whole number, not "5"'],
    ["int", "_gt", null, "f: must be a whole number, not null"],
    ["int", "_in", 5, "f: must be a list, not a number"],
    ["int", "_in", [1, null], "f[1]: must be a whole number, not null"],
    ["int", "_between", [1], "f: must be a list of exactly two bounds, [from, to]"],
    ["int", "_between", [1, 2, 3], "f: must be a list of exactly two bounds, [from, to]"],
    ["int", "_between", { 0: 1, 1: 2, length: 2 }, "f: must be a list of exactly two bounds, [from, to]"],
    ["int", "_is_null", "true", "f: must be true or false, not text"],
    ["int", "_is_null", null, "f: must be true or false, not null"],
    ["string", "_eq", { _bsontype: "Code" }, "f: must be text, not an object"],
    ["string", "_eq", "x".repeat(1_025), "f: is longer than 1024 characters"],
    ["string", "_eq", "😀".repeat(1_025), "f: is longer than 1024 characters"],
    ["string", "_contains", 5, "f: must be text, not a number"],
    ["string", "_contains", "x".repeat(1_025), "f: is longer than 1024 characters"],
    ["int", "_in", Array(1_001).fill(1), "f: has more than 1000 members"],
    ["json", "_eq", { a: 1 }, "f: a json column can only be compared with null"],
    [
      "enumList",
      "_neq",
      ["red"],
      "f: an enum list takes _contains with one of its values, and _eq and _neq only with null",
    ],
    ["string", "_eq", "\ud83d", "f: must be text, not text with half a character (an unpaired surrogate)"],
    ["boolean", "_eq", "x".repeat(50), "f: must be true or false, not this text"],
  ])("%s %s", (type, name, operand, problem) => {
    expect(refusalOf(() => bindOperator(of(type), name, operand, "f"))).toBe(problem);
  });

  it("text without a meaning in Unicode", () => {
    expect(refusalOf(() => bindOperator(of("string"), "_eq", "\ud800", "f"))).toMatch(
      /^f: must be text, not /,
    );
    expect(refusalOf(() => bindOperator(of("string"), "_contains", "\ud800", "f"))).toMatch(
      /^f: must be text, not /,
    );
  });
});

describe("operands of the bracket form", () => {
  it.each<[type: DeclaredType, name: string, text: Json, operand: Json]>([
    ["int", "_eq", "5", 5],
    ["int", "_eq", "-5", -5],
    ["int", "_in", "1,2", [1, 2]],
    ["int", "_in", "", []],
    ["int", "_in", ["1", "2"], [1, 2]],
    ["float", "_gt", "1.5e3", 1500],
    ["boolean", "_eq", "false", false],
    ["int", "_is_null", "true", true],
    ["int", "_is_not_null", "false", false],
    ["string", "_eq", "null", "null"],
    ["string", "_contains", "1,2", "1,2"],
    ["bigint", "_eq", "5", "5"],
  ])("%s %s %j reads as %j", (type, name, text, operand) => {
    expect(operandFromText(of(type), name, text, "f")).toEqual(operand);
  });

  it.each<[type: DeclaredType, name: string, text: Json, problem: string]>([
    ["int", "_eq", "1.5", 'f: must be a whole number, not "1.5"'],
    ["int", "_eq", "0x1", 'f: must be a whole number, not "0x1"'],
    ["int", "_in", "1,,2", 'f: must be a whole number, not ""'],
    ["float", "_eq", "Infinity", 'f: must be a number, not "Infinity"'],
    ["boolean", "_eq", "1", 'f: must be true or false, not "1"'],
  ])("%s %s refuses %j", (type, name, text, problem) => {
    expect(refusalOf(() => operandFromText(of(type), name, text, "f"))).toBe(problem);
  });
});
