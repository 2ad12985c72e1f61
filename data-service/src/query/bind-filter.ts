// Filter JSON -> predicate: resolves every name through the caller's view, checks every operand.
import { isArray, isObject, type Json, kindOf } from "@portico/shared/json";
import type { Column, Relation, Table } from "../catalog/catalog.js";
import { suggestion } from "../catalog/names.js";
import type { ReadView } from "../permission/read-view.js";
import { isVariable, type Variables, variablesIn } from "../permission/variables.js";
import { ALWAYS, type Predicate, UNKNOWN } from "./ast.js";
import { canBe, isLeftOpen } from "./left-open.js";
import { LIMITS } from "./limits.js";
import { conjunction, disjunction, negation } from "./logic.js";
import { bindOperator, bindPartly, misfit, OPERATORS, onlyNull, operandFromText } from "./operators.js";
import { notComparable, type Path, refuse } from "./refuse.js";

export interface FilterContext {
  readonly view: ReadView;
  /** Relation hops allowed from here (at the root QUERY_MAX_DEPTH; in rules LIMITS.relations). */
  readonly maxDepth: number;
  /** Operands are text from the bracket form and take the column's type. */
  readonly fromText: boolean;
  /** Only in rules: what `$user.id` and the like stand for. */
  readonly variables?: Variables;
}

const LOGICAL = ["_and", "_or", "_not"];
/** The operators that a relation accepts directly: they apply to the related id. */
export const ON_RELATIONS = ["_eq", "_neq", "_in", "_not_in", "_nin", "_is_null", "_is_not_null"];

/** Counts the comparisons of one whole filter. */
interface Scope extends FilterContext {
  readonly budget: { comparisons: number };
  readonly hops: number;
  readonly nesting: number;
}

/**
 * Binds a filter on a table.
 * @throws AppError 400 naming the path of the first thing that is wrong
 */
export function bindFilter(json: Json, table: Table, context: FilterContext, path: Path): Predicate {
  return bindObject(json, table, { ...context, budget: { comparisons: 0 }, hops: 0, nesting: 0 }, path);
}

function bindObject(json: Json, table: Table, scope: Scope, path: Path): Predicate {
  if (!isObject(json))
    throw refuse(path, `must be an object such as {"name":{"_eq":"Ann"}}, not ${kindOf(json)}`);
  return conjunction(
    Object.entries(json).map(([name, inner]) => bindEntry(name, inner, table, scope, `${path}.${name}`)),
  );
}

function bindEntry(name: string, json: Json, table: Table, scope: Scope, path: Path): Predicate {
  if (LOGICAL.includes(name))
    return bindLogic(name, json, scope, path, (each, at, inner) => bindObject(each, table, inner, at));
  const column = scope.view.column(table, name);
  if (column !== undefined) return bindColumn(column, json, scope, path);
  const found = scope.view.relation(table, name);
  if (found !== undefined) return bindRelation(found.relation, found.target, json, scope, path);
  if (OPERATORS.has(name)) throw refuse(path, `${name} stands inside a field, as in {"name":{"${name}":…}}`);
  const instead = insteadOfDots(name, table, scope.view);
  if (instead !== undefined)
    throw refuse(path, `unknown field "${name.slice(0, 64)}" on "${table.name}"; ${instead}`);
  throw notComparable(path, name, table, scope.view);
}

/** `author.name` is how other parameters write it; here one object stands inside the other. */
function insteadOfDots(name: string, table: Table, view: ReadView): string | undefined {
  const [first = "", ...rest] = name.slice(0, 64).split(".");
  if (rest.length === 0) return undefined;
  if (view.relation(table, first) !== undefined)
    return `write ${[first, ...rest].reduceRight((inner, each) => `{"${each}":${inner}}`, "…")}`;
  const column = view.column(table, first);
  return column?.type === "json" ? onlyNull(column.type) : undefined;
}

function bindLogic(
  name: string,
  json: Json,
  scope: Scope,
  path: Path,
  bind: (json: Json, path: Path, scope: Scope) => Predicate,
): Predicate {
  const inner = { ...scope, nesting: scope.nesting + 1 };
  if (inner.nesting > LIMITS.logicalNesting)
    throw refuse(path, `nests deeper than ${LIMITS.logicalNesting} levels`);
  if (name === "_not") {
    if (!isObject(json)) throw refuse(path, `must be an object, not ${kindOf(json)}`);
    return negation(bind(json, path, inner));
  }
  if (!isArray(json)) throw refuse(path, `must be a list of filters, not ${kindOf(json)}`);
  // An empty list says nothing, also in an `_or`: it is what a form sends in which nothing was chosen.
  if (json.length === 0) return ALWAYS;
  const of = json.map((each, at) => bind(each, `${path}[${at}]`, inner));
  return name === "_and" ? conjunction(of) : disjunction(of);
}

/** `{"f":5}` is `_eq`, `{"f":null}` is "is null", `{"f":{…}}` holds operators, all of which must hold. */
function bindColumn(column: Column, json: Json, scope: Scope, path: Path): Predicate {
  if (!isObject(json)) return bindComparison(column, "_eq", json, scope, path);
  const entries = Object.entries(json);
  if (entries.length === 0) throw refuse(path, 'needs an operator, as in {"_eq":…}');
  return conjunction(
    entries.map(([name, operand]) => bindComparison(column, name, operand, scope, `${path}.${name}`)),
  );
}

function bindComparison(column: Column, name: string, operand: Json, scope: Scope, path: Path): Predicate {
  countComparison(scope, path);
  if (!OPERATORS.has(name)) throw refuse(path, unknownOperator(name, column));
  if (scope.variables !== undefined && variablesIn(operand).length > 0)
    return bindVariable(column, name, operand, scope.variables, path);
  const value = scope.fromText ? operandFromText(column, name, operand, path) : operand;
  return bindOperator(column, name, value, path);
}

/**
 * A variable without a value is not a null test: a comparison with nothing is unknown, as in SQL. So is one with a value of the
 * caller's that is no operand, such as a text that is too long: it must not end a rule that grants something else as well.
 */
function bindVariable(
  column: Column,
  name: string,
  operand: Json,
  variables: Variables,
  path: Path,
): Predicate {
  const resolve = (each: Json, at: Path): Json => {
    if (!isVariable(each)) return each;
    const value = variables.value(each, column);
    if (value === undefined) throw refuse(at, variables.about(each));
    const problem = value === null ? undefined : misfit(column, name, value);
    if (problem === undefined) return value;
    if (variables.areSamples) throw refuse(at, `${problem}; ${variables.about(each)}`);
    return null;
  };
  if (!isArray(operand)) {
    const value = resolve(operand, path);
    return value === null ? UNKNOWN : bindOperator(column, name, value, path);
  }
  const members = operand.map((each, at) => resolve(each, `${path}[${at}]`));
  return (members.includes(null) ? bindPartly : bindOperator)(column, name, members, path);
}

function countComparison({ budget }: Scope, path: Path): void {
  budget.comparisons += 1;
  if (budget.comparisons > LIMITS.comparisons) {
    throw refuse(path, `the filter has more than ${LIMITS.comparisons} comparisons`);
  }
}

function unknownOperator(name: string, column: Column): string {
  if (LOGICAL.includes(name)) {
    const inner = `{"${column.name}":{…}}`;
    return `${name} stands around fields, as in {"${name}":${name === "_not" ? inner : `[${inner}]`}}`;
  }
  const unknown = `unknown operator "${name}" on the ${column.type} column "${column.name}"`;
  // What is meant as a member of the JSON.
  const isInside = column.type === "json" && !name.startsWith("_");
  return unknown + (isInside ? `; ${onlyNull(column.type)}` : suggestion(name, OPERATORS.keys()));
}

/**
 * Inside a relation's object, operators are about the related record's id and everything else about its fields; one record
 * must satisfy all of it. Null tests ask whether there is a related record, and an empty list decides without one.
 */
function bindRelation(relation: Relation, target: Table, json: Json, scope: Scope, path: Path): Predicate {
  const inner = { ...scope, view: scope.view.through(relation), hops: scope.hops + 1 };
  if (inner.hops > scope.maxDepth) throw refuse(path, `goes through more than ${scope.maxDepth} relations`);
  const content = isObject(json) ? json : { _eq: json };
  const countedBefore = scope.budget.comparisons;
  const outside: Predicate[] = [];
  const conditions: Predicate[] = [];
  for (const [name, operand] of Object.entries(content)) {
    const at = isObject(json) ? `${path}.${name}` : path;
    const presence = presenceOf(name, operand, inner, at);
    if (presence !== undefined) {
      const exists: Predicate = { kind: "exists", relation, target };
      outside.push(presence ? exists : negation(exists));
      continue;
    }
    const condition = bindRelated(name, operand, target, inner, at);
    const decided = OPERATORS.has(name) && isConstant(condition);
    (decided ? outside : conditions).push(condition);
  }
  // Asking whether there is a record at all costs a join, too.
  if (scope.budget.comparisons === countedBefore) countComparison(scope, path);
  if (conditions.length === 0 && outside.length > 0) return conjunction(outside);
  return conjunction([...outside, related(relation, target, conjunction(conditions))]);
}

/**
 * A to-many relation is two-valued as long as its condition depends only on records. What a variable without a value leaves
 * open in it stays open: then the relation is true if records satisfy the rest, and never false. Where no record at all could
 * decide it, none is asked for.
 */
function related(relation: Relation, target: Table, where: Predicate): Predicate {
  if (relation.many && where.kind === "never") return where;
  const found: Predicate = { kind: "related", relation, target, where };
  if (!isLeftOpen(where)) return found;
  if (!relation.many) return canBe(found, true) || canBe(found, false) ? found : UNKNOWN;
  return canBe(where, true) ? disjunction([found, UNKNOWN]) : UNKNOWN;
}

function isConstant({ kind }: Predicate): boolean {
  return kind === "always" || kind === "never";
}

/** Whether an entry asks for a related record (true), for none (false), or for something else (undefined). */
function presenceOf(name: string, operand: Json, scope: Scope, path: Path): boolean | undefined {
  if (operand === null && name === "_eq") return false;
  if (operand === null && name === "_neq") return true;
  if (name !== "_is_null" && name !== "_is_not_null") return undefined;
  const flag = scope.fromText && (operand === "true" || operand === "false") ? operand === "true" : operand;
  if (typeof flag !== "boolean") throw refuse(path, `must be true or false, not ${kindOf(operand)}`);
  return (name === "_is_not_null") === flag;
}

function bindRelated(name: string, operand: Json, target: Table, scope: Scope, path: Path): Predicate {
  if (!OPERATORS.has(name)) return bindEntry(name, operand, target, scope, path);
  if (!ON_RELATIONS.includes(name)) {
    throw refuse(
      path,
      `a relation does not take ${name}; it takes ${ON_RELATIONS.join(", ")} or fields of "${target.name}"`,
    );
  }
  return bindComparison(target.idColumn, name, operand, scope, path);
}
