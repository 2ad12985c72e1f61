// May an answer that has begun go on? Only while its tables still have what it reads where it reads it, and
// unhidden what it shows. Pure.
import { type Catalog, type Relation, type Table, tableById, targetOf } from "../../catalog/catalog.js";
import type { AuthorizedNode, AuthorizedPredicate, AuthorizedQuery, RowRules } from "../../query/ast.js";
import { leavesIn } from "../../query/leaves.js";
import { isOnRelated } from "../../query/lower/condition.js";

/** What an answer shows: all records under its root, by the caller's row rules. */
export type Shown = Pick<AuthorizedQuery, "root" | "rules">;

/**
 * @returns false once something that the answer shows is hidden, and once columns or relations are gone or lie elsewhere, of
 * its own tables and of those through which its records are chosen and sorted: it goes on reading where it began
 */
export function isStillOpen({ root, rules }: Shown, catalog: Catalog): boolean {
  return isNodeOpen(root, rules, catalog);
}

function isNodeOpen(node: AuthorizedNode, rules: RowRules, catalog: Catalog): boolean {
  const { table, columns, children } = node;
  const now = asBefore(table, catalog);
  if (now === undefined) return false;
  const hidden = new Set([...now.columns.values()].flatMap((column) => (column.hidden ? [column.id] : [])));
  return (
    columns.every((column) => column.hidden || !hidden.has(column.id)) &&
    tablesBehind(node, rules).every((each) => asBefore(each, catalog) !== undefined) &&
    children.every(
      ({ relation, node }) => leadsTo(now, relation, node.table, catalog) && isNodeOpen(node, rules, catalog),
    )
  );
}

/** The table as it is now; undefined once it is stored otherwise. */
function asBefore(began: Table, catalog: Catalog): Table | undefined {
  const now = tableById(catalog, began.id);
  return now !== undefined && isStoredAlike(began, now) ? now : undefined;
}

/** The tables whose records decide which records of a node are shown, which of their members, and in which order. */
function tablesBehind(
  { rule, filter, masks, sort, counts }: AuthorizedNode,
  rules: RowRules,
): readonly Table[] {
  const steps = [
    ...sort.flatMap((key) => (key.kind === "column" ? key.path : [key.step])),
    ...counts.map(({ step }) => step),
  ];
  const targets = steps.map(({ target }) => target);
  const predicates = [rule, filter, ...masks.map(({ rows }) => rows), ...targets.map(rules)];
  return [...new Set([...targets, ...predicates.flatMap(tablesIn)])];
}

function tablesIn(predicate: AuthorizedPredicate): Table[] {
  return leavesIn(predicate)
    .filter(isOnRelated)
    .flatMap((leaf) => {
      const there = leaf.kind === "related" ? [leaf.where, leaf.visible] : [leaf.visible];
      return [leaf.target, ...there.flatMap(tablesIn)];
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
