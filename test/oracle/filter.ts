// Contract 4.1: is a filter true, false or unknown (null) for a row?
import {
  type Column,
  columnOf,
  type End,
  endOf,
  isObject,
  type Json,
  type JsonObject,
  Refused,
  type Row,
  type Table,
  valueIn,
  type World,
} from "./model.js";
import { fits, order, textMatches } from "./values.js";

export type Truth = boolean | null;

export function isTrue(world: World, table: Table, filter: JsonObject | undefined, row: Row): boolean {
  return filter === undefined || truthOf(world, table, filter, row) === true;
}

export function truthOf(world: World, table: Table, filter: JsonObject, row: Row): Truth {
  return all(Object.entries(filter).map(([key, operand]) => truthOfKey(world, table, key, operand, row)));
}

/** Refuses what no row would bring to light. */
export function checkFilter(world: World, table: Table, filter: JsonObject): void {
  for (const [key, operand] of Object.entries(filter)) {
    const column = columnOf(table, key);
    const end = endOf(world, table, key);
    if (key === "_and" || key === "_or") {
      for (const one of members(operand)) checkFilter(world, table, one);
    } else if (key === "_not" && isObject(operand)) {
      checkFilter(world, table, operand);
    } else if (column !== undefined) {
      truthOfColumn(column, operand, null);
    } else if (end !== undefined) {
      for (const [inner, one] of Object.entries(isObject(operand) ? operand : { _eq: operand })) {
        if (truthOfNullTest(inner, one, true) !== undefined) continue;
        if (OF_THE_ID.includes(inner)) truthOfPart(world, end, inner, one, undefined);
        else checkFilter(world, end.table, { [inner]: one });
      }
    } else {
      throw new Refused(`filter: ${key}`);
    }
  }
}

function truthOfKey(world: World, table: Table, key: string, operand: Json, row: Row): Truth {
  if (key === "_and") return all(members(operand).map((one) => truthOf(world, table, one, row)));
  if (key === "_or") {
    const truths = members(operand).map((one) => truthOf(world, table, one, row));
    return truths.length === 0 ? true : not(all(truths.map(not)));
  }
  if (key === "_not") {
    if (!isObject(operand)) throw new Refused("_not takes an object");
    return not(truthOf(world, table, operand, row));
  }
  const column = columnOf(table, key);
  if (column !== undefined) return truthOfColumn(column, operand, valueIn(row, key));
  const end = endOf(world, table, key);
  if (end !== undefined) return truthOfRelation(world, end, operand, row);
  throw new Refused(`unknown field ${key}`);
}

function members(operand: Json): readonly JsonObject[] {
  if (!Array.isArray(operand) || !operand.every(isObject)) throw new Refused("takes a list of objects");
  return operand;
}

function all(truths: readonly Truth[]): Truth {
  return truths.includes(false) ? false : truths.includes(null) ? null : true;
}

function not(truth: Truth): Truth {
  return truth === null ? null : !truth;
}

function truthOfColumn(column: Column, operand: Json, value: Json): Truth {
  if (!isObject(operand)) return compare(column, "_eq", operand, value);
  const operators = Object.entries(operand);
  if (operators.length === 0) throw new Refused(`${column.name} has no operators`);
  return all(operators.map(([operator, one]) => compare(column, operator, one, value)));
}

const EQUALITY = ["_eq", "_neq", "_in", "_not_in", "_nin"];
const ORDER = ["_gt", "_gte", "_lt", "_lte", "_between"];
const TEXT = ["_contains", "_icontains", "_starts_with", "_ends_with"];

/** Besides the null tests, which every column takes. */
export function operatorsOf({ type }: Column): readonly string[] {
  if (type === "string" || type === "text") return [...EQUALITY, ...ORDER, ...TEXT];
  if (type === "boolean") return EQUALITY;
  if (type === "enumList") return ["_contains"];
  if (type === "json") return [];
  return [...EQUALITY, ...ORDER];
}

function compare(column: Column, operator: string, operand: Json, value: Json): Truth {
  const nullTest = truthOfNullTest(operator, operand, value !== null);
  if (nullTest !== undefined) return nullTest;
  if (!operatorsOf(column).includes(operator)) throw new Refused(`${column.type} takes no ${operator}`);
  const operands = operandsOf(column, operator, operand);
  if (operands.length === 0) return operator !== "_in";
  if (value === null) return null;
  const orders = () => operands.map((one) => order(column.type, value, one));
  const [first = Number.NaN, second = Number.NaN] =
    TEXT.includes(operator) || column.type === "enumList" ? [] : orders();
  switch (operator) {
    case "_eq":
      return first === 0;
    case "_neq":
      return first !== 0;
    case "_gt":
      return first > 0;
    case "_gte":
      return first >= 0;
    case "_lt":
      return first < 0;
    case "_lte":
      return first <= 0;
    case "_between":
      return first >= 0 && second <= 0;
    case "_in":
      return orders().includes(0);
    case "_not_in":
    case "_nin":
      return !orders().includes(0);
    case "_starts_with":
      return textMatches("starts", String(value), String(operand));
    case "_ends_with":
      return textMatches("ends", String(value), String(operand));
    default:
      return column.type === "enumList"
        ? Array.isArray(value) && value.includes(operand)
        : textMatches("contains", String(value), String(operand));
  }
}

/** Undefined when the operator asks something else. */
function truthOfNullTest(operator: string, operand: Json, present: boolean): boolean | undefined {
  if (operator === "_eq" && operand === null) return !present;
  if (operator === "_neq" && operand === null) return present;
  if (operator !== "_is_null" && operator !== "_is_not_null") return undefined;
  if (typeof operand !== "boolean") throw new Refused(`${operator} takes true or false`);
  return present === (operand === (operator === "_is_not_null"));
}

/** Undefined for everything else. */
function truthOfEmptyList(operator: string, operand: Json): boolean | undefined {
  if (!["_in", "_not_in", "_nin"].includes(operator)) return undefined;
  return Array.isArray(operand) && operand.length === 0 ? operator !== "_in" : undefined;
}

function operandsOf(column: Column, operator: string, operand: Json): readonly Json[] {
  const isList = ["_in", "_not_in", "_nin", "_between"].includes(operator);
  if (isList !== Array.isArray(operand)) throw new Refused(`${operator} and ${JSON.stringify(operand)}`);
  const operands = Array.isArray(operand) ? operand : [operand];
  if (operator === "_between" && operands.length !== 2) throw new Refused("_between takes two");
  if (operands.length > 1000) throw new Refused("a list is too long");
  for (const one of operands) {
    if (!fits(column, one)) throw new Refused(`${JSON.stringify(one)} is no ${column.type}`);
  }
  return operands;
}

const OF_THE_ID = ["_eq", "_neq", "_in", "_not_in", "_nin"];

/**
 * Directly on a relation, operators speak of the related record's id, which is null when there is none; null tests ask
 * whether there is one, and an empty list decides by itself. What stands inside is unknown without a related record (to-one), or asks for any that satisfies
 * all of it (to-many).
 */
function truthOfRelation(world: World, end: End, operand: Json, row: Row): Truth {
  const known = isObject(operand) ? truthsOf(operand) : new Map<Row, Truth>();
  const truth = known.has(row) ? (known.get(row) ?? null) : truthOfParts(world, end, operand, row);
  known.set(row, truth);
  return truth;
}

/** Each part of a filter is asked once for each row, or many hops would take for ever. */
const truthsKnown = new WeakMap<JsonObject, Map<Row, Truth>>();

function truthsOf(filter: JsonObject): Map<Row, Truth> {
  const truths = truthsKnown.get(filter) ?? new Map<Row, Truth>();
  truthsKnown.set(filter, truths);
  return truths;
}

function truthOfParts(world: World, end: End, operand: Json, row: Row): Truth {
  const parts = Object.entries(isObject(operand) ? operand : { _eq: operand });
  const related = end.related(row);
  const nullTests: Truth[] = [];
  const rest: [string, Json][] = [];
  for (const [key, one] of parts) {
    const truth = truthOfNullTest(key, one, related.length > 0) ?? truthOfEmptyList(key, one);
    if (truth === undefined) rest.push([key, one]);
    else nullTests.push(truth);
  }
  if (nullTests.length > 0 && rest.length === 0) return all(nullTests);
  const truthFor = (record: Row | undefined): Truth =>
    all([
      record === undefined && rest.every(([key]) => !OF_THE_ID.includes(key)) ? null : true,
      ...rest.map(([key, one]) => truthOfPart(world, end, key, one, record)),
    ]);
  if (end.kind === "one") return all([...nullTests, truthFor(related[0])]);
  return all([...nullTests, related.some((record) => truthFor(record) === true)]);
}

function truthOfPart(world: World, end: End, key: string, operand: Json, record: Row | undefined): Truth {
  if (OF_THE_ID.includes(key)) {
    return compare({ name: "id", type: end.table.idType }, key, operand, record?.id ?? null);
  }
  return record === undefined ? null : truthOfKey(world, end.table, key, operand, record);
}
