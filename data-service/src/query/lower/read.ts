// AuthorizedQuery -> aggregation pipelines. Slots in fixed order: match without joins, joins the filter needs, match,
// sort joins, sort, skip, limit, child joins, project. What only serves the output runs after the page is cut.
import type { AuthorizedNode, AuthorizedPredicate, AuthorizedQuery, ChildNode } from "../ast.js";
import { matchStages } from "./condition.js";
import { type Document, Names, type Stage } from "./document.js";
import { joinStage } from "./join.js";
import { lowerSort } from "./sort.js";

type Child = ChildNode<AuthorizedPredicate, AuthorizedPredicate>;
type Rules = AuthorizedQuery["rules"];

/** The pipeline of a list, on the root table's collection. */
export function lowerList(query: AuthorizedQuery): Stage[] {
  const names = new Names();
  const { root, rules } = query;
  return [
    ...matchStages([root.rule, root.filter], names),
    ...page(root, rules, names),
    ...output(root, rules, names),
  ];
}

/** The pipeline that reads the records which `which` selects, `node.limit` at most. */
export function lowerRecord(node: AuthorizedNode, which: Document, rules: Rules): Stage[] {
  const names = new Names();
  return [
    { $match: which },
    ...matchStages([node.rule], names),
    { $limit: node.limit },
    ...output(node, rules, names),
  ];
}

/** Counts the rows of a query: `filterCount` with the client's filter, `totalCount` without. */
export function lowerCount(query: AuthorizedQuery, which: "filterCount" | "totalCount"): Stage[] {
  const { rule, filter } = query.root;
  const predicates = which === "filterCount" ? [rule, filter] : [rule];
  return [...matchStages(predicates, new Names()), { $count: "value" }];
}

/** Sorts and cuts the page. */
function page(node: AuthorizedNode, rules: Rules, names: Names): Stage[] {
  const { joins, sort } = lowerSort(node.sort, rules, names);
  return [
    ...joins,
    ...(Object.keys(sort).length === 0 ? [] : [{ $sort: sort }]),
    ...(node.skip === 0 ? [] : [{ $skip: node.skip }]),
    ...(node.limit === 0 ? [] : [{ $limit: node.limit }]),
  ];
}

/** Loads the children and keeps only what the answer shows. */
function output(node: AuthorizedNode, rules: Rules, names: Names): Stage[] {
  const joined = node.children.filter((child) => !isKeyOnly(child));
  const joins = joined.map((child) =>
    joinStage(child.relation, child.node.table, childPipeline(child, rules, names), childField(child)),
  );
  return [...joins, { $project: projection(node) }];
}

function childPipeline({ relation, node }: Child, rules: Rules, names: Names): Stage[] {
  return [
    ...matchStages([node.rule, node.filter], names),
    ...(relation.many ? page(node, rules, names) : [{ $limit: 1 }]),
    ...output(node, rules, names),
  ];
}

function projection(node: AuthorizedNode): Document {
  const fields = node.columns.map((column) => column.field);
  const children = node.children.map((child) =>
    isKeyOnly(child) ? child.relation.link.field : childField(child),
  );
  return { _id: 1, ...Object.fromEntries([...fields, ...children].map((field) => [field, 1])) };
}

/** Where a child's records lie in the parent's document. */
export function childField({ relation }: Child): string {
  return `__r_${relation.name}`;
}

/**
 * True when the answer shows only `{"id":…}` and the id stands in the document itself, so that no join is needed:
 * no rule or filter could turn it into null.
 */
export function isKeyOnly({ relation, node }: Child): boolean {
  const { on, list } = relation.link;
  const onlyId = node.children.length === 0 && node.columns.every((column) => column === node.table.idColumn);
  return on === "self" && !list && onlyId && node.rule.kind === "always" && node.filter.kind === "always";
}
