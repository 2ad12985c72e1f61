// `aggregate` JSON -> what to compute over the filtered rows (contract 4.4).
import { isObject, type Json, kindOf } from "@portico/shared/json";
import type { Column, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import type { ReadView } from "../permission/read-view.js";
import type { AggregateKey, AggregateOp } from "./ast.js";
import { notComparable, type Path, refuse } from "./refuse.js";

const OPS: readonly AggregateOp[] = ["count", "sum", "avg", "min", "max"];

/**
 * Binds `{"price":{"sum":true},"comments":{"count":true}}`.
 * @throws AppError 400 naming the path
 */
export function bindAggregate(given: Json | undefined, table: Table, view: ReadView): AggregateKey[] {
  if (given === undefined) return [];
  if (!isObject(given))
    throw refuse("aggregate", `must be an object such as {"views":{"sum":true}}, not ${kindOf(given)}`);
  return Object.entries(given).map(([name, ops]) => {
    const path = `aggregate.${name}`;
    const column = view.column(table, name);
    if (column !== undefined)
      return { kind: "column", column, ops: readOps(ops, aggregatesOf(column), path) };
    const step = view.relation(table, name);
    if (step === undefined) throw notComparable(path, name, table, view);
    if (!step.relation.many)
      throw refuse(path, "is a to-one relation; only to-many relations can be counted");
    readOps(ops, ["count"], path);
    return { kind: "relation", step };
  });
}

/** What can be computed over a column. */
export function aggregatesOf(column: Column): AggregateOp[] {
  const { numeric, sortable } = COLUMN_TYPES[column.type];
  if (column.encrypted) return ["count"];
  return OPS.filter((op) => op === "count" || (op === "sum" || op === "avg" ? numeric : sortable));
}

function readOps(given: Json, allowed: readonly AggregateOp[], path: Path): AggregateOp[] {
  if (!isObject(given) || Object.keys(given).length === 0)
    throw refuse(path, 'must be an object such as {"count":true}');
  return Object.entries(given).map(([name, value]) => {
    const op = allowed.find((each) => each === name);
    if (op === undefined) throw refuse(`${path}.${name}`, `is not possible here; use ${allowed.join(", ")}`);
    if (value !== true)
      throw refuse(`${path}.${name}`, `must be true, not ${value === false ? "false" : kindOf(value)}`);
    return op;
  });
}
