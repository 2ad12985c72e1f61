// `sort` -> keys: columns, numbers and extremes of related records; `id` closes every sort.
import type { Json } from "@portico/shared/json";
import type { Column, Relation, Table } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import type { SortKey, Step } from "./ast.js";
import { notComparable, type Path, refuse } from "./refuse.js";
import { requireCountable, requireRelation, type Scope } from "./scope.js";
import { parseSort, type SortSyntax } from "./syntax/sort.js";

/** @throws AppError 400 naming the key */
export function bindSort(given: Json | undefined, scope: Scope, path: Path): SortKey[] {
  const keys = given === undefined ? [] : parseSort(given, path).map((key) => bindSortKey(key, scope, path));
  const closing: SortKey = { kind: "column", path: [], column: scope.table.idColumn, descending: false };
  // An earlier key decides; a repeated one could never matter.
  const seen = new Set<string>();
  return [...keys, closing].filter((key) => {
    const name = sortKeyName(key);
    const repeated = seen.has(name);
    seen.add(name);
    return !repeated;
  });
}

function sortKeyName(key: SortKey): string {
  const steps = key.kind === "column" ? key.path : [key.step];
  const path = steps.map((step) => step.relation.name).join(".");
  return `${key.kind}(${path}.${key.kind === "count" ? "" : key.column.name})`;
}

function bindSortKey(key: SortSyntax, scope: Scope, path: Path): SortKey {
  const { descending } = key;
  if (key.kind === "path") return bindSortPath(key.segments, descending, scope, path);
  requireHops(scope.depth + 1, scope, path);
  const step = requireCountable(key.relation, scope, path, "use", key);
  if (key.kind === "count") return { kind: "count", step, descending };
  const column = requireSortable(key.field, { ...scope, table: step.target }, path, () => {
    return `"${key.field}" is a relation; _${key.kind} takes a column of "${step.target.name}"`;
  });
  return { kind: key.kind, step, column, descending };
}

function bindSortPath(segments: readonly string[], descending: boolean, scope: Scope, path: Path): SortKey {
  const steps: Step[] = [];
  let here = scope;
  for (const segment of segments.slice(0, -1)) {
    const step = requireRelation(segment, here, path, "use");
    if (step.relation.many) {
      const through = `goes through the to-many relation "${segment}"`;
      const instead = insteadOfMany(segments, steps.length, here.table);
      throw refuse(path, `"${segments.join(".").slice(0, 64)}" ${through}${instead}`);
    }
    steps.push(step);
    here = { ...here, table: step.target, depth: here.depth + 1 };
    requireHops(here.depth, scope, path);
  }
  const column = requireSortable(segments.at(-1) ?? "", here, path, ({ many }) => {
    const name = segments.join(".");
    if (many) return `"${name}" is a to-many relation${insteadOfMany(segments, steps.length, here.table)}`;
    return `"${name}" is a relation; sort by ${name}.id or another of its columns`;
  });
  return { kind: "column", path: steps, column, descending };
}

/** What a sort key can be in place of one with a to-many relation. @param at where that stands @param table whose it is */
function insteadOfMany(segments: readonly string[], at: number, { name }: Table): string {
  const [relation, ...rest] = segments.slice(at);
  if (at > 0) return `, by which only "${name}" can be sorted`;
  const extreme = rest.length === 1 ? [`_max(${relation}.${rest[0]})`] : [];
  const keys = [...extreme, `_count(${relation})`].join(" or ");
  return rest.length === 0 ? `; sort by ${keys}` : `; use ${keys}`;
}

function requireHops(depth: number, { limits: { maxDepth } }: Scope, path: Path): void {
  if (depth > maxDepth) throw refuse(path, `goes through more than ${maxDepth} relations`);
}

/** @param ofRelation the refusal of a relation */
function requireSortable(
  name: string,
  { view, table }: Scope,
  path: Path,
  ofRelation: (relation: Relation) => string,
): Column {
  const column = view.column(table, name);
  if (column === undefined) {
    const relation = view.relation(table, name)?.relation;
    throw relation === undefined
      ? notComparable(path, name, table, view)
      : refuse(path, ofRelation(relation));
  }
  if (column.encrypted || !COLUMN_TYPES[column.type].sortable) {
    const why = column.encrypted ? "is encrypted" : `has the type ${column.type}`;
    throw refuse(path, `"${name}" ${why} and can't be sorted by`);
  }
  return column;
}
