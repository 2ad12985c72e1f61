// The public operators, one row each: which columns accept them, with which operand, and what they mean.
import type { AppError } from "@portico/shared/app-error";
import { describeValue, isArray, type Json, kindOf } from "@portico/shared/json";
import type { Column } from "../catalog/catalog.js";
import { aColumn, COLUMN_TYPES, type ColumnType, type OperatorFamily } from "../catalog/column-types.js";
import { normalizeEmail } from "../catalog/email-address.js";
import { suggestion } from "../catalog/names.js";
import type { Stored } from "../catalog/stored.js";
import { ALWAYS, NEVER, type Predicate, type Test, type Tested, UNKNOWN } from "./ast.js";
import { isLonger } from "./is-longer.js";
import { LIMITS } from "./limits.js";
import { conjunction, disjunction, negation } from "./logic.js";
import { type Path, refuse } from "./refuse.js";

type Family = OperatorFamily | "null";

/** What an operator is given: see `operandOf`. */
export type OperandKind =
  | "value or null"
  | "value"
  | "values"
  | "two values"
  | "text or member"
  | "text"
  | "flag";

interface Operator {
  readonly operand: OperandKind;
  /** A column with any of these accepts the operator. */
  readonly families: readonly Family[];
  readonly bind: (column: Column, operand: Json, path: Path) => Predicate;
  /**
   * For a list: the same if some of its members have no value, given as null. As in SQL, the others still decide where they
   * can.
   */
  readonly bindPartly?: (column: Column, members: readonly Json[], path: Path) => Predicate;
}

function test(column: Column, test: Test): Predicate {
  return { kind: "test", column, test };
}

/** A single operand of the column's type. */
function value(column: Column, operand: Json, path: Path): Stored {
  const row = COLUMN_TYPES[column.type];
  const stored = row.parse(operand, column.values);
  if (stored === undefined)
    throw wrongValue(column, operand, path, (text) => row.parse(text, column.values) !== undefined);
  if (typeof stored !== "string") return stored;
  checkLength(stored, path);
  // As it is stored, so that an address is found however somebody spells it.
  return column.isAddress ? normalizeEmail(stored) : stored;
}

/** @param fits whether it would be right with another text */
function wrongValue(column: Column, operand: Json, path: Path, fits: (text: string) => boolean): AppError {
  const problem = `must be ${expectation(column)}, not ${describeValue(operand)}`;
  // As in the offset of a time, `+02:00`.
  const wasPlus = typeof operand === "string" && operand.includes(" ") && fits(operand.replaceAll(" ", "+"));
  return refuse(path, wasPlus ? `${problem} (a + in an address is a space; write %2B)` : problem);
}

function expectation(column: Column): string {
  const { expects } = COLUMN_TYPES[column.type];
  return column.values.length > 0 ? `one of ${column.values.slice(0, 20).join(", ")}` : expects;
}

function isTooLong(text: string): boolean {
  return isLonger(text, LIMITS.textCharacters);
}

function checkLength(text: string, path: Path): void {
  if (isTooLong(text)) throw refuse(path, `is longer than ${LIMITS.textCharacters} characters`);
}

function values(column: Column, operand: Json, path: Path): Stored[] {
  if (!isArray(operand)) throw refuse(path, `must be a list, not ${kindOf(operand)}`);
  if (operand.length > LIMITS.listMembers) throw refuse(path, `has more than ${LIMITS.listMembers} members`);
  return operand.map((each, at) => value(column, each, `${path}[${at}]`));
}

function flag(operand: Json, path: Path): boolean {
  if (typeof operand !== "boolean") throw refuse(path, `must be true or false, not ${kindOf(operand)}`);
  return operand;
}

/** The text to search for: literal, never a pattern. An empty one is in every text. */
function needle(operand: Json, path: Path): string {
  if (typeof operand !== "string") throw refuse(path, `must be text, not ${kindOf(operand)}`);
  if (!operand.isWellFormed()) throw refuse(path, `must be text, not ${describeValue(operand)}`);
  checkLength(operand, path);
  return operand;
}

const equals: Operator["bind"] = (column, operand, path) =>
  operand === null
    ? test(column, { op: "isNull" })
    : test(column, { op: "eq", value: value(column, operand, path) });

/** `_in: []` is false and not unknown, so it does not test the column at all. */
const among: Operator["bind"] = (column, operand, path) => {
  const members = values(column, operand, path);
  return members.length === 0 ? NEVER : test(column, { op: "in", values: members });
};

const notAmong: Operator["bind"] = (column, operand, path) => {
  const members = values(column, operand, path);
  return members.length === 0 ? ALWAYS : negation(test(column, { op: "in", values: members }));
};

function order(op: "lt" | "lte" | "gt" | "gte"): Operator {
  return {
    operand: "value",
    families: ["order"],
    bind: (column, operand, path) => test(column, { op, value: value(column, operand, path) }),
  };
}

function text(op: "contains" | "startsWith" | "endsWith"): Operator {
  return {
    operand: "text",
    families: ["text"],
    bind: (column, operand, path) => test(column, { op, text: needle(operand, path) }),
  };
}

/** On text it searches; on a list it asks for a member. */
const contains: Operator["bind"] = (column, operand, path) => {
  if (column.type !== "enumList") return text("contains").bind(column, operand, path);
  const member = COLUMN_TYPES.enum.parse(operand, column.values);
  if (member === undefined)
    throw refuse(path, `must be ${expectation(column)}, not ${describeValue(operand)}`);
  return test(column, { op: "member", value: member });
};

const between: Operator["bind"] = (column, operand, path) => {
  const [from, to] = isArray(operand) && operand.length === 2 ? values(column, operand, path) : [];
  if (from === undefined || to === undefined)
    throw refuse(path, "must be a list of exactly two bounds, [from, to]");
  return conjunction([test(column, { op: "gte", value: from }), test(column, { op: "lte", value: to })]);
};

const inPart: Operator["bindPartly"] = (column, members, path) =>
  disjunction([among(column, known(members), path), UNKNOWN]);

const notInPart: Operator["bindPartly"] = (column, members, path) =>
  conjunction([notAmong(column, known(members), path), UNKNOWN]);

const betweenInPart: Operator["bindPartly"] = (column, members, path) => {
  const [bound = null] = known(members);
  const side = order(members[0] === null ? "lte" : "gte");
  return conjunction([side.bind(column, bound, path), UNKNOWN]);
};

function known(members: readonly Json[]): Json[] {
  return members.filter((each) => each !== null);
}

function nullTest(wanted: boolean): Operator {
  return {
    operand: "flag",
    families: ["null"],
    bind: (column, operand, path) => {
      const isNull: Tested = { kind: "test", column, test: { op: "isNull" } };
      return flag(operand, path) === wanted ? isNull : negation(isNull);
    },
  };
}

/** Every comparison operator of contract 4.1. The logical ones are structure and are in bind-filter. */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ["_eq", { operand: "value or null", families: ["equality", "null"], bind: equals }],
  [
    "_neq",
    {
      operand: "value or null",
      families: ["equality", "null"],
      bind: (...operand) => negation(equals(...operand)),
    },
  ],
  ["_gt", order("gt")],
  ["_gte", order("gte")],
  ["_lt", order("lt")],
  ["_lte", order("lte")],
  ["_in", { operand: "values", families: ["equality"], bind: among, bindPartly: inPart }],
  ["_not_in", { operand: "values", families: ["equality"], bind: notAmong, bindPartly: notInPart }],
  ["_nin", { operand: "values", families: ["equality"], bind: notAmong, bindPartly: notInPart }],
  ["_between", { operand: "two values", families: ["order"], bind: between, bindPartly: betweenInPart }],
  ["_contains", { operand: "text or member", families: ["text", "membership"], bind: contains }],
  ["_icontains", { operand: "text or member", families: ["text", "membership"], bind: contains }],
  ["_starts_with", text("startsWith")],
  ["_ends_with", text("endsWith")],
  ["_is_null", nullTest(true)],
  ["_is_not_null", nullTest(false)],
]);

/** Everything that a column allows; an encrypted one allows nothing, because the database can't look inside. */
function familiesOf({ type, encrypted }: Pick<Column, "type" | "encrypted">): readonly Family[] {
  return encrypted ? [] : ["null", ...COLUMN_TYPES[type].families];
}

/** The operators that a column accepts, for checks and messages. */
export function operatorsOf(column: Pick<Column, "type" | "encrypted">): string[] {
  const families = familiesOf(column);
  return [...OPERATORS]
    .filter(([, row]) => row.families.some((each) => families.includes(each)))
    .map(([name]) => name);
}

/**
 * What an operator accepts on columns of a type, for code that describes it; undefined if the type does not have it. `null`
 * = null and nothing else.
 */
export function operandOf(
  type: ColumnType,
  name: string,
): Exclude<OperandKind, "text or member"> | "member" | "null" | undefined {
  const operator = OPERATORS.get(name);
  if (operator === undefined || !operatorsOf({ type, encrypted: false }).includes(name)) return undefined;
  const families = COLUMN_TYPES[type].families;
  if (operator.operand === "text or member") return families.includes("membership") ? "member" : "text";
  if (operator.operand === "value or null" && !families.includes("equality")) return "null";
  return operator.operand;
}

/**
 * Binds one operator of one column.
 * @throws AppError 400 for an operator that the column does not accept or an operand that does not fit
 */
export function bindOperator(column: Column, name: string, operand: Json, path: Path): Predicate {
  return requireOperator(column, name, operand, path).bind(column, operand, path);
}

/**
 * Binds an operator whose operand is a list in which null stands for each variable without a value.
 * @throws AppError 400
 */
export function bindPartly(column: Column, name: string, members: readonly Json[], path: Path): Predicate {
  const { bindPartly: bind } = requireOperator(column, name, members, path);
  const isUnknown = bind === undefined || known(members).length === 0;
  return isUnknown ? UNKNOWN : bind(column, members, path);
}

/**
 * Why the value of a variable is no operand, or no member of one that is a list. Unlike the refusals of `bindOperator` it does
 * not quote the value, which nobody wrote.
 * @returns undefined when it fits, and where the operator takes nothing anyway
 */
export function misfit(column: Column, name: string, given: Json): string | undefined {
  const expected = column.encrypted ? undefined : expectedOf(column, name);
  if (expected === undefined) return undefined;
  const fits = (each: Json): boolean => expected.fits(each) && !(typeof each === "string" && isTooLong(each));
  const isRight = isArray(given) ? given.every(fits) : fits(given);
  return isRight ? undefined : `must be ${expected.words}`;
}

function expectedOf(
  column: Column,
  name: string,
): { readonly words: string; readonly fits: (each: Json) => boolean } | undefined {
  const fitting = (type: ColumnType) => (each: Json) =>
    COLUMN_TYPES[type].parse(each, column.values) !== undefined;
  switch (operandOf(column.type, name)) {
    case undefined:
    case "null":
      return undefined;
    case "flag":
      return { words: "true or false", fits: fitting("boolean") };
    case "text":
      return { words: "text", fits: fitting("text") };
    case "member":
      return { words: expectation(column), fits: fitting("enum") };
    default:
      return { words: expectation(column), fits: fitting(column.type) };
  }
}

function requireOperator(column: Column, name: string, operand: Json, path: Path): Operator {
  const operator = OPERATORS.get(name);
  const allowed = operatorsOf(column);
  if (allowed.length === 0) throw refuse(path, "an encrypted column can't be filtered by");
  if (operator === undefined) throw refuse(path, `unknown operator "${name}"${suggestion(name, allowed)}`);
  if (!allowed.includes(name)) {
    const taken = allowed.map((each) => (comparesOnlyNull(column, each) ? `${each} (with null only)` : each));
    throw refuse(path, `${aColumn(column.type)} does not take ${name}; it takes ${taken.join(", ")}`);
  }
  if (comparesOnlyNull(column, name) && operand !== null) throw refuse(path, onlyNull(column.type));
  return operator;
}

/** Does the operator compare values, but none of this column? */
function comparesOnlyNull(column: Column, name: string): boolean {
  const families = OPERATORS.get(name)?.families ?? [];
  const comparesValues = families.some((each) => each !== "null" && familiesOf(column).includes(each));
  return !comparesValues && families.includes("equality");
}

/** What a column without equality accepts instead. */
export function onlyNull(type: ColumnType): string {
  return COLUMN_TYPES[type].families.includes("membership")
    ? "an enum list takes _contains with one of its values, and _eq and _neq only with null"
    : `${aColumn(type)} can only be compared with null`;
}

/**
 * The JSON operand that the text of the bracket form stands for.
 * @param text the text, split at commas where the operand is a list, or the list if the address spelled the members out as `[0]=…`
 */
export function operandFromText(column: Column, name: string, text: Json, path: Path): Json {
  const kind = OPERATORS.get(name)?.operand;
  if (kind === "values" || kind === "two values") {
    const members = typeof text === "string" ? (text === "" ? [] : text.split(",")) : text;
    return isArray(members) ? members.map((each) => valueFromText(column, each, path)) : members;
  }
  if (kind === "flag") return text === "true" ? true : text === "false" ? false : text;
  return valueFromText(column, text, path);
}

function valueFromText(column: Column, text: Json, path: Path): Json {
  if (typeof text !== "string") return text;
  const { fromText } = COLUMN_TYPES[column.type];
  const json = fromText(text);
  if (json === undefined) throw wrongValue(column, text, path, (other) => fromText(other) !== undefined);
  return json;
}
