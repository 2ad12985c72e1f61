// Contract 4.4: counts, sums, averages and extremes over rows.
import {
  type Column,
  columnOf,
  endOf,
  isObject,
  type Json,
  Refused,
  type Row,
  type Table,
  valueIn,
  type World,
} from "./model.js";
import { addExact, divideExact, exact, order, spell } from "./values.js";

export function aggregateOf(world: World, table: Table, rows: readonly Row[], request: Json): Json {
  if (!isObject(request)) throw new Refused("aggregate takes an object");
  return Object.fromEntries(
    Object.entries(request).map(([field, operations]) => {
      if (!isObject(operations) || Object.keys(operations).length === 0) throw new Refused("aggregate");
      if (Object.values(operations).some((one) => one !== true)) throw new Refused("aggregate takes true");
      return [field, aggregateField(world, table, rows, field, Object.keys(operations))];
    }),
  );
}

function aggregateField(
  world: World,
  table: Table,
  rows: readonly Row[],
  field: string,
  operations: readonly string[],
): Json {
  const end = endOf(world, table, field);
  if (end !== undefined) {
    if (end.kind !== "many" || operations.some((one) => one !== "count")) throw new Refused("aggregate");
    return { count: rows.reduce((sum, row) => sum + end.related(row).length, 0) };
  }
  const column = columnOf(table, field);
  if (column === undefined) throw new Refused(`aggregate.${field}`);
  const values = rows.map((row) => valueIn(row, field)).filter((value) => value !== null);
  return Object.fromEntries(operations.map((one) => [one, aggregate(column, one, values)]));
}

/** The operations that fit a column's type. */
export function aggregatesOf({ type }: Column): readonly string[] {
  if (type === "json" || type === "enumList") return ["count"];
  if (["int", "float", "bigint", "decimal"].includes(type)) return ["count", "min", "max", "sum", "avg"];
  return ["count", "min", "max"];
}

function aggregate(column: Column, operation: string, values: readonly Json[]): Json {
  if (!aggregatesOf(column).includes(operation)) throw new Refused(`aggregate: no ${operation} here`);
  const { type } = column;
  if (operation === "count") return values.length;
  if (values.length === 0) return null;
  const inOrder = () => [...values].sort((a, b) => order(type, a, b));
  if (operation === "min") return inOrder()[0] ?? null;
  if (operation === "max") return inOrder().at(-1) ?? null;
  if (type === "float") {
    const sum = values.reduce<number>((total, value) => total + Number(value), 0);
    return operation === "sum" ? sum : sum / values.length;
  }
  const sum = values.map((value) => exact(String(value))).reduce(addExact);
  const result = spell(operation === "sum" ? sum : divideExact(sum, values.length));
  return type === "int" ? Number(result) : result;
}
