// Is the service's answer the one that the contract demands?
import { isDeepStrictEqual } from "node:util";
import type { ListAnswer } from "./evaluate.js";
import { columnOf, isObject, type Json, type JsonObject, type Table } from "./model.js";
import { addExact, compareExact, type Exact, exact, rounded } from "./values.js";

/** Equal in rows, order, shape and counts; the order of keys is free. */
export function isSame(table: Table, expected: ListAnswer, actual: JsonObject): boolean {
  if (!isDeepStrictEqual(expected.data, actual.data)) return false;
  const { aggregate: expectedNumbers, ...expectedCounts } = expected.meta ?? {};
  if (actual.meta !== undefined && !isObject(actual.meta)) return false;
  const { aggregate: actualNumbers, ...actualCounts } = actual.meta ?? {};
  const hasMeta = (expected.meta !== undefined) === (actual.meta !== undefined);
  return (
    hasMeta &&
    isDeepStrictEqual(expectedCounts, actualCounts) &&
    isSameAggregate(table, expectedNumbers, actualNumbers)
  );
}

function isSameAggregate(table: Table, expected: Json | undefined, actual: Json | undefined): boolean {
  if (!isObject(expected) || !isObject(actual)) return expected === actual;
  if (!isDeepStrictEqual(Object.keys(expected).sort(), Object.keys(actual).sort())) return false;
  return Object.entries(expected).every(([field, numbers]) => {
    const other = actual[field];
    if (!isObject(numbers) || !isObject(other)) return false;
    if (!isDeepStrictEqual(Object.keys(numbers).sort(), Object.keys(other).sort())) return false;
    return Object.entries(numbers).every(([operation, number]) =>
      isSameNumber(columnOf(table, field)?.type, operation, number, other[operation]),
    );
  });
}

/**
 * Sums and averages of doubles depend on the order of adding, and the contract leaves the digits of a decimal's sum free
 * (`20` or `20.00`); every other difference counts.
 */
function isSameNumber(
  type: string | undefined,
  operation: string,
  expected: Json,
  actual: Json | undefined,
): boolean {
  if (expected === null || actual === null) return expected === actual;
  if (type === "decimal" || (type === "bigint" && operation === "avg")) {
    if (typeof actual !== typeof expected) return false;
    if (typeof actual !== "string" || typeof expected !== "string") return actual === expected;
    return (
      /^-?\d+(\.\d+)?$/.test(actual) && isSameExact(exact(expected), exact(actual), /sum|avg/.test(operation))
    );
  }
  if (typeof expected === "number" && typeof actual === "number" && /sum|avg/.test(operation)) {
    const isRounded = type === "float" || Math.abs(expected) > Number.MAX_SAFE_INTEGER || operation === "avg";
    return isRounded
      ? Math.abs(expected - actual) <= 1e-12 * Math.max(1, Math.abs(expected))
      : expected === actual;
  }
  return isDeepStrictEqual(expected, actual);
}

/** What needs more than 34 digits may be rounded on the way, at each addition. */
function isSameExact(expected: Exact, actual: Exact, mayRound: boolean): boolean {
  if (compareExact(rounded(expected), actual) === 0) return true;
  const isLong = String(expected.digits).replace("-", "").length >= 33;
  const magnitude = Math.abs(numberOf(expected));
  const error = Math.abs(numberOf(subtract(expected, actual)));
  return mayRound && isLong && error <= magnitude * 1e-30;
}

function numberOf({ digits, scale }: Exact): number {
  return Number(digits) / 10 ** scale;
}

function subtract(a: Exact, b: Exact): Exact {
  return addExact(a, { digits: -b.digits, scale: b.scale });
}
