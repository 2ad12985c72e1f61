// May an answer that has begun go on? Only while its tables still have what it reads where it reads it, and
// unhidden what it shows. Pure.
import { type Catalog, type Relation, type Table, tableById, targetOf } from "../../catalog/catalog.js";
import type { AuthorizedNode, AuthorizedPredicate, AuthorizedQuery, RowRules } from "../../query/ast.js";
import { leavesIn } from "../../query/leaves.js";

/** What an answer shows: all records under its root, by the caller's row rules. */
export interface Shown
  extends Pick<AuthorizedQuery, "root" | "rules">,
    Partial<Pick<AuthorizedQuery, "aggregate">> {
  /** Tables whose rules decide what it shows, though nothing in it leads there. */
  readonly beside?: readonly Table[];
}

/**
 * @returns false once something that the answer shows is hidden, and once columns or relations are gone or lie elsewhere, of
 * its own tables and of those through which its records are chosen and sorted: it goes on reading where it began
 */
export function isStillOpen(shown: Shown, catalog: Catalog): boolean {
  return (
    [...tablesOf(shown)].every((each) => asBefore(each, catalog) !== undefined) &&
    isNodeOpen(shown.root, catalog)
  );
}

/** The tables that an answer shows or goes through: their rules, and where they store what, decide what is in it. */
export function tablesOf({ root, rules, aggregate = [], beside = [] }: Shown): ReadonlySet<Table> {
  const aggregated = aggregate.flatMap((key) => (key.kind === "relation" ? [key.step.target] : []));
  return new Set([
    ...tablesUnder(root, rules),
    ...aggregated.flatMap((each) => ruled(each, rules)),
    ...beside,
  ]);
}

function isNodeOpen({ table, columns, children }: AuthorizedNode, catalog: Catalog): boolean {
  const now = asBefore(table, catalog);
  if (now === undefined) return false;
  const hidden = new Set([...now.columns.values()].flatMap((column) => (column.hidden ? [column.id] : [])));
  return (
    columns.every((column) => column.hidden || !hidden.has(column.id)) &&
    children.every(
      ({ relation, node }) => leadsTo(now, relation, node.table, catalog) && isNodeOpen(node, catalog),
    )
  );
}

/** The table as it is now; undefined once it is stored otherwise. */
function asBefore(began: Table, catalog: Catalog): Table | undefined {
  const now = tableById(catalog, began.id);
  return now !== undefined && isStoredAlike(began, now) ? now : undefined;
}

/** The tables of a node and below it, and those that decide which of their records it shows, how much, and in which order. */
function tablesUnder(node: AuthorizedNode, rules: RowRules): Table[] {
  const { table, rule, filter, masks, sort, counts, children } = node;
  const steps = [
    ...sort.flatMap((key) => (key.kind === "column" ? key.path : [key.step])),
    ...counts.map(({ step }) => step),
  ];
  const predicates = [rule, filter, ...masks.map(({ rows }) => rows)];
  return [
    table,
    ...predicates.flatMap(tablesIn),
    ...steps.flatMap(({ target }) => ruled(target, rules)),
    ...children.flatMap((child) => tablesUnder(child.node, rules)),
  ];
}

/** A table, and those through which the rule for its records goes. */
function ruled(table: Table, rules: RowRules): Table[] {
  return [table, ...tablesIn(rules(table))];
}

/** Also where a record's own link decides: that needs a right to read the other end. */
function tablesIn(predicate: AuthorizedPredicate): Table[] {
  return leavesIn(predicate).flatMap((leaf) => {
    if (leaf.kind === "exists") return [leaf.target, ...tablesIn(leaf.visible)];
    if (leaf.kind === "related") return [leaf.target, ...[leaf.where, leaf.visible].flatMap(tablesIn)];
    return [];
  });
}

function leadsTo(now: Table, { id }: Relation, target: Table, catalog: Catalog): boolean {
  const relation = [...now.relations.values()].find((each) => each.id === id);
  return relation !== undefined && targetOf(catalog, relation).id === target.id;
}

function isStoredAlike(began: Table, now: Table): boolean {
  if ((now.deletedAt === undefined) !== (began.deletedAt === undefined)) return false;
  const present = new Set(placesOf(now));
  return placesOf(began).every((place) => present.has(place));
}

/** Where and how each member is stored, and each number of children that a record keeps. */
function placesOf({ columns, relations }: Table): string[] {
  const ofColumns = [...columns.values()].map(({ id, field, type, encrypted }) => [
    id,
    field,
    type,
    encrypted,
  ]);
  const ofRelations = [...relations.values()].map(({ id, link }) => [id, link.on, link.field, link.list]);
  const ofNumbers = [...relations.values()].flatMap(({ link, counter }) =>
    link.on === "target" && counter?.ready === true ? [[counter.id, counter.column.field]] : [],
  );
  return [...ofColumns, ...ofRelations, ...ofNumbers].map((place) => JSON.stringify(place));
}
