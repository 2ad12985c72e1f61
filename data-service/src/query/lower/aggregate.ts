// Aggregates over the filtered rows -> one $group, and back to JSON.
import type { Json } from "@portico/shared/json";
import type { Column } from "../../catalog/catalog.js";
import { COLUMN_TYPES } from "../../catalog/column-types.js";
import type { AggregateKey, AggregateOp, AuthorizedQuery } from "../ast.js";
import { matchStages } from "./condition.js";
import { counterFor } from "./counter-for.js";
import { type Document, Names, type Stage, type StoredRecord, type Value } from "./document.js";
import { fitting } from "./fitting.js";
import { countJoin } from "./sort.js";

/** The pipeline whose single document holds every aggregate asked for. */
export function lowerAggregate(query: AuthorizedQuery): Stage[] {
  const names = new Names();
  const groups: Document = {};
  const joins = query.aggregate.flatMap((key, at) => {
    if (key.kind === "relation") {
      const counter = counterFor(key.step.relation, key.step.target, query.rules);
      if (counter !== undefined) {
        groups[resultField(at, "count")] = { $sum: `$${counter.column.field}` };
        return [];
      }
      const value = names.next();
      groups[resultField(at, "count")] = { $sum: `$${value}` };
      return countJoin(key.step, query.rules, names, value);
    }
    for (const op of computed(key.column, key.ops)) groups[resultField(at, op)] = accumulator(key.column, op);
    return [];
  });
  const { rule, filter } = query.root;
  return [...matchStages([rule, filter], names), ...joins, { $group: { _id: null, ...groups } }];
}

function resultField(at: number, op: AggregateOp): string {
  return `a${at}_${op}`;
}

/** What is asked for, and what tells whether that is over anything: a sum alone does not. */
function computed({ isAdopted }: Column, asked: readonly AggregateOp[]): ReadonlySet<AggregateOp> {
  return new Set([
    ...asked,
    "count",
    ...(isAdopted === true && asked.includes("sum") ? ["avg" as const] : []),
  ]);
}

function accumulator(column: Column, op: AggregateOp): Document {
  const field = `$${column.field}`;
  if (op === "count") return { $sum: { $cond: [{ $eq: [{ $ifNull: [field, null] }, null] }, 0, 1] } };
  const value = column.isAdopted === true ? fitting(column.type, field) : field;
  // Sums of 64-bit numbers exceed 64 bits; decimal128 holds them exactly.
  const exact = column.type === "bigint" && (op === "sum" || op === "avg") ? asDecimal(value) : value;
  return { [`$${op}`]: exact };
}

/** What is not a number adds nothing; texts and dates would otherwise be converted, too. */
function asDecimal(input: Value): Document {
  return { $cond: [{ $isNumber: input }, { $toDecimal: input }, null] };
}

/** The group's document (undefined when no row matched) as `meta.aggregate`. */
export function shapeAggregate(keys: readonly AggregateKey[], group: StoredRecord | undefined): Json {
  return Object.fromEntries(
    keys.map((key, at) => {
      const count = Number(group?.[resultField(at, "count")] ?? 0);
      // There is no average of values none of which is a number.
      const isOverNothing = count === 0 || group?.[resultField(at, "avg")] === null;
      if (key.kind === "relation") return [key.step.relation.name, { count }];
      const results = key.ops.map((op): [string, Json] => [
        op,
        op === "count"
          ? count
          : isOverNothing
            ? null
            : resultJson(key.column, op, group?.[resultField(at, op)]),
      ]);
      return [key.column.name, Object.fromEntries(results)];
    }),
  );
}

function resultJson(column: Column, op: AggregateOp, value: unknown): Json {
  const exact = column.type === "bigint" || column.type === "decimal";
  if (op === "sum" || op === "avg") return exact ? COLUMN_TYPES.decimal.toJson(value) : Number(value);
  return COLUMN_TYPES[column.type].toJson(value);
}
