// Where names are looked up: a table, the caller's view of it, and how far it lies from the one that was asked for.
import type { Table } from "../catalog/catalog.js";
import type { Purpose, ReadView } from "../permission/read-view.js";
import type { Step } from "./ast.js";
import { notComparable, type Path, refuse, unknownField } from "./refuse.js";

export interface QueryLimits {
  /** QUERY_MAX_DEPTH: how many relations a name may go through. */
  readonly maxDepth: number;
  /** QUERY_MAX_LIMIT; undefined = none. */
  readonly maxLimit: number | undefined;
}

export interface Scope {
  readonly view: ReadView;
  readonly limits: QueryLimits;
  readonly table: Table;
  /** How many relations lead here. */
  readonly depth: number;
  /**
   * For a file. It is complete: a relation without a limit of its own shows all its records, not only the first few. And what
   * it shows unasked can be imported.
   */
  readonly inFile: boolean;
}

/** @throws AppError 400 for what is no relation */
export function requireRelation(name: string, { view, table }: Scope, path: Path, purpose: Purpose): Step {
  const found = view.relation(table, name, purpose);
  if (found !== undefined) return found;
  if (view.column(table, name, purpose) !== undefined)
    throw refuse(path, `"${name}" of "${table.name}" is a column, not a relation`);
  const relations = view.names(table, purpose).filter((each) => view.relation(table, each, purpose));
  throw purpose === "show"
    ? unknownField(path, name, table.name, relations)
    : notComparable(path, name, table, view, relations);
}

/**
 * The relation of `_count(name)`, `_max(name.…)` and `_min(name.…)`.
 * @param asked the whole expression, and what it asks of the relation's records
 * @throws AppError 400
 */
export function requireCountable(
  name: string,
  scope: Scope,
  path: Path,
  purpose: Purpose,
  { text, field }: { readonly text: string; readonly field?: string } = { text: `_count(${name})` },
): Step {
  const step = requireRelation(name, scope, path, purpose);
  if (step.relation.many) return step;
  const instead = field === undefined ? ", so there is nothing to count" : `; write ${name}.${field} instead`;
  throw refuse(path, `${text}: "${name}" is to-one${instead}`);
}
