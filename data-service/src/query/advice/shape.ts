// A read of one table -> its shape: which fields it tests and how, and what it sorts by. No operands: a shape contains
// nothing that users searched for, so it can be kept and counted. Pure.
import { type Relation, relationIn, type Table } from "../../catalog/catalog.js";
import type { AuthorizedChild, AuthorizedPredicate, SortKey, Step, Test } from "../ast.js";
import { asksForAny, isAboutKey, type Relational } from "../lower/condition.js";

/**
 * How a field is tested, as far as an index cares. `alternative`: under an `_or`; `negated`: under a `_not`, `_neq` or
 * `_not_in`; `joined`: only a join can tell.
 */
export type TestClass = "equality" | "range" | "text" | "null" | "alternative" | "negated" | "joined";

export interface FilterPart {
  readonly field: string;
  readonly test: TestClass;
}

export interface QueryShape {
  readonly table: string;
  /** By field, without repeats. */
  readonly filter: readonly FilterPart[];
  /** As the `sort` parameter spells keys; without the `id` that closes every sort. */
  readonly sort: readonly string[];
}

/** What a read of one table asks of it. */
export interface TableRead {
  readonly table: Table;
  /** All of which must be true. */
  readonly predicates: readonly AuthorizedPredicate[];
  readonly sort: readonly SortKey[];
  /** The stored link by which children are fetched. */
  readonly linkField?: string;
}

export function shapeOf({ table, predicates, sort, linkField }: TableRead): QueryShape {
  const link = linkField === undefined ? [] : [part(fieldName(table, linkField), "equality")];
  const around: Around = linkField === undefined ? (test) => test : besideLink;
  const parts = [...link, ...predicates.flatMap((each) => partsOf(each, table, around))];
  const unique = new Map(parts.map((each) => [`${each.field} ${each.test}`, each]));
  const keys = [...unique.keys()].sort();
  return {
    table: table.name,
    filter: keys.flatMap((key) => unique.get(key) ?? []),
    sort: withoutClosingId(sort, table).map(sortText),
  };
}

/** The read that fetches a relation's records under their parents. */
export function childRead({ relation, node }: AuthorizedChild): TableRead {
  const { table, rule, filter, sort } = node;
  return { table, predicates: [rule, filter], sort, linkField: foundBy(relation, table) };
}

/** The read that counts a relation's records under their parents. @param visible the row rule of their table */
export function countRead({ relation, target }: Step, visible: AuthorizedPredicate): TableRead {
  return { table: target, predicates: [visible], sort: [], linkField: foundBy(relation, target) };
}

/** The field by which a relation's records are found. */
function foundBy({ link }: Relation, target: Table): string {
  return link.on === "self" ? target.idColumn.field : link.field;
}

/** The logic around a test changes what an index can do for it. */
type Around = (test: TestClass) => TestClass;

/**
 * Records that are found by their link are then searched for text one by one: grams narrow nothing there (see candidates).
 */
function besideLink(test: TestClass): TestClass {
  return test === "text" ? "joined" : test;
}

function partsOf(predicate: AuthorizedPredicate, table: Table, around: Around): FilterPart[] {
  switch (predicate.kind) {
    case "always":
    case "never":
    case "unknown":
    case "candidates":
      return [];
    case "and":
      return predicate.of.flatMap((each) => partsOf(each, table, around));
    case "or":
      return predicate.of.flatMap((each) => partsOf(each, table, () => around("alternative")));
    case "not":
      // A link that is null is spelled as one that does not exist.
      return isLink(predicate.of)
        ? [part(predicate.of.relation.name, around("null"))]
        : partsOf(predicate.of, table, () => "negated");
    case "test":
      // Nobody asks for these: they are part of every read of a table that keeps deleted records, or of a change of many.
      if (predicate.column === table.deletedAt || predicate.test.op === "named") return [];
      return [part(predicate.column.name, around(classOf(predicate.test)))];
    case "keys":
      return [part(fieldName(table, predicate.field), around("equality"))];
    case "exists":
    case "related": {
      const { name } = predicate.relation;
      if (!isAboutKey(predicate)) return [part(name, around("joined"))];
      if (predicate.kind === "exists" || predicate.where.kind === "always")
        return [part(name, around("negated"))];
      return partsOf(predicate.where, table, around).map(({ test }) => part(name, test));
    }
  }
}

function isLink(predicate: AuthorizedPredicate): predicate is Relational {
  if (predicate.kind !== "exists" && predicate.kind !== "related") return false;
  return asksForAny(predicate) && isAboutKey(predicate);
}

function part(field: string, test: TestClass): FilterPart {
  return { field, test };
}

function classOf({ op }: Test): TestClass {
  if (op === "eq" || op === "in" || op === "member") return "equality";
  if (op === "isNull") return "null";
  return op === "contains" || op === "startsWith" || op === "endsWith" ? "text" : "range";
}

/** The public name of a stored link or id. */
function fieldName(table: Table, field: string): string {
  if (field === table.idColumn.field) return table.idColumn.name;
  return relationIn(table, field)?.name ?? field;
}

function withoutClosingId(sort: readonly SortKey[], table: Table): readonly SortKey[] {
  const last = sort.at(-1);
  const closing =
    last?.kind === "column" && last.path.length === 0 && last.column === table.idColumn && !last.descending;
  return closing ? sort.slice(0, -1) : sort;
}

function sortText(key: SortKey): string {
  const sign = key.descending ? "-" : "";
  if (key.kind === "count") return `${sign}_count(${key.step.relation.name})`;
  if (key.kind !== "column") return `${sign}_${key.kind}(${key.step.relation.name}.${key.column.name})`;
  return sign + [...key.path.map(({ relation }) => relation.name), key.column.name].join(".");
}
