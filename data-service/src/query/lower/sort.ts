// Sort keys -> the joins that fetch what they compare, and the $sort document.
import type { RowRules, SortKey, Step } from "../ast.js";
import { isOwnList, matchStages } from "./condition.js";
import type { Document, Names, Stage } from "./document.js";
import { joinStages } from "./join.js";

export interface LoweredSort {
  readonly joins: readonly Stage[];
  /** Keys in order; MongoDB puts null and missing values first ascending, last descending, as the contract wants. */
  readonly sort: Document;
}

interface Part {
  readonly joins: readonly Stage[];
  readonly keys: readonly (readonly [field: string, direction: 1 | -1])[];
}

/** Lowers all keys of one list. @param rules row rules of the tables that keys go through */
export function lowerSort(keys: readonly SortKey[], rules: RowRules, names: Names): LoweredSort {
  const parts = keys.map((key, at) => lowerKey(key, rules, names, at === 0));
  return {
    joins: parts.flatMap((part) => part.joins),
    sort: Object.fromEntries(parts.flatMap((part) => part.keys)),
  };
}

function lowerKey(key: SortKey, rules: RowRules, names: Names, isFirst: boolean): Part {
  const direction = key.descending ? -1 : 1;
  if (key.kind === "column" && key.path.length === 0 && !isFirst && NUMBER.test(key.column.field))
    return lowerNumberKey(key.column.field, direction, names);
  if (key.kind === "column") return lowerColumnKey(key, direction, rules, names);
  if (key.kind === "count") return lowerCountKey(key.step, direction, rules, names);
  return lowerExtremeKey(key, direction, rules, names);
}

/** JavaScript puts object members named like numbers before all others, in whatever order they were added. */
const NUMBER = /^\d+$/;

/** An adopted field may have such a name; under another name it keeps its place among the keys. */
function lowerNumberKey(field: string, direction: 1 | -1, names: Names): Part {
  const value = names.next();
  return { joins: [{ $set: { [value]: `$${field}` } }], keys: [[value, direction]] };
}

function lowerColumnKey(
  key: Extract<SortKey, { kind: "column" }>,
  direction: 1 | -1,
  rules: RowRules,
  names: Names,
): Part {
  const [first, ...rest] = key.path;
  if (first === undefined) return { joins: [], keys: [[key.column.field, direction]] };
  const [joined, value] = [names.next(), names.next()];
  const pipeline = chainPipeline(first, rest, key.column.field, rules, names);
  const joins = [
    ...joinStages(first.relation, first.target, pipeline, joined),
    { $set: { [value]: { $first: `$${joined}.value` } } },
  ];
  return { joins, keys: [[value, direction]] };
}

/** Follows a to-one chain inward and returns its last column as `value`. */
function chainPipeline(
  step: Step,
  rest: readonly Step[],
  field: string,
  rules: RowRules,
  names: Names,
): Stage[] {
  const visible = matchStages([rules(step.target)], names);
  const [next, ...further] = rest;
  if (next === undefined) return [...visible, { $project: { _id: 0, value: `$${field}` } }];
  const joined = names.next();
  const pipeline = chainPipeline(next, further, field, rules, names);
  return [
    ...visible,
    ...joinStages(next.relation, next.target, pipeline, joined),
    { $project: { _id: 0, value: { $first: `$${joined}.value` } } },
  ];
}

function lowerCountKey(step: Step, direction: 1 | -1, rules: RowRules, names: Names): Part {
  const value = names.next();
  return { joins: countJoin(step, rules, names, value), keys: [[value, direction]] };
}

/**
 * Stages that put the number of visible related records into the field `value`. Of a list of our own links to records that no
 * rule hides, it is the length.
 * @param joined where the join puts what it finds
 */
export function countJoin(
  step: Step,
  rules: RowRules,
  names: Names,
  value: string,
  joined = names.next(),
): Stage[] {
  const { relation, target } = step;
  const rule = rules(target);
  if (rule.kind === "always" && isOwnList(relation, target))
    return [{ $set: { [value]: sizeOf(`$${relation.link.field}`) } }];
  const pipeline = [...matchStages([rule], names), { $count: "value" }];
  return [
    ...joinStages(relation, target, pipeline, joined),
    { $set: { [value]: { $ifNull: [{ $first: `$${joined}.value` }, 0] } } },
  ];
}

function sizeOf(list: string): Document {
  return { $cond: [{ $isArray: list }, { $size: list }, 0] };
}

/** Records without a value come last in both directions, so a flag is the first key. */
function lowerExtremeKey(
  key: Extract<SortKey, { kind: "max" | "min" }>,
  direction: 1 | -1,
  rules: RowRules,
  names: Names,
): Part {
  const [joined, value, missing] = [names.next(), names.next(), names.next()];
  const { relation, target } = key.step;
  const extreme = { [`$${key.kind}`]: `$${key.column.field}` };
  const pipeline = [...matchStages([rules(target)], names), { $group: { _id: null, value: extreme } }];
  const joins = [
    ...joinStages(relation, target, pipeline, joined),
    { $set: { [value]: { $ifNull: [{ $first: `$${joined}.value` }, null] } } },
    { $set: { [missing]: { $eq: [`$${value}`, null] } } },
  ];
  return {
    joins,
    keys: [
      [missing, 1],
      [value, direction],
    ],
  };
}
