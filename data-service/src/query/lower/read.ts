// AuthorizedQuery -> aggregation pipelines. Slots in fixed order: match without joins, sort if it needs no join, joins
// the filter needs, match, sort joins, sort, skip, limit, child joins, project. What only serves the output runs last.
import type { Stored } from "../../catalog/column-types.js";
import type { AuthorizedNode, AuthorizedPredicate, AuthorizedQuery, ChildNode } from "../ast.js";
import { matchStages, splitMatch } from "./condition.js";
import { type Document, Names, type Stage } from "./document.js";
import { joinStage } from "./join.js";
import { rankStages } from "./rank.js";
import { lowerSort } from "./sort.js";

type Child = ChildNode<AuthorizedPredicate, AuthorizedPredicate>;
type Rules = AuthorizedQuery["rules"];

/**
 * The pipeline of a list, on the root table's collection.
 * @param ranking group children once instead of looking them up for each parent (see rank.ts)
 */
export function lowerList(query: AuthorizedQuery, ranking: Ranking = NO_RANKING): Stage[] {
  const names = new Names();
  const { root, rules } = query;
  const { parents, isPage = false } = ranking;
  if (parents !== undefined && isPage) return [...inOrder(parents), ...output(root, rules, names)];
  if (!ranking.ranked)
    return [...sortedMatches(root, rules, names), ...cut(root), ...output(root, rules, names)];
  const self = { from: root.table.collection, localField: "_id", foreignField: "_id" };
  return [
    ...matchStages([root.rule, root.filter, ...(parents === undefined ? [] : [oneOf(parents)])], names),
    ...rankStages(root, rules, names, parents),
    ...cut(root),
    { $lookup: { ...self, pipeline: output(root, rules, names), as: "record" } },
    { $replaceRoot: { newRoot: { $first: "$record" } } },
  ];
}

/** How a list sorted by aggregates is run. */
export interface Ranking {
  readonly ranked: boolean;
  /** The only parents that can be on the page. */
  readonly parents?: readonly Stored[];
  /** These parents are the page, in its order. */
  readonly isPage?: boolean;
  /** Those that come first, and some more in case that one of the page is gone. */
  readonly reserve?: readonly Stored[];
}

export const NO_RANKING: Ranking = { ranked: false };

/** The place of a record on the page. */
const PLACE = "__at";

function inOrder(ids: readonly Stored[]): Stage[] {
  const place = { $indexOfArray: [{ $literal: [...ids] }, "$_id"] };
  return [{ $match: { _id: { $in: [...ids] } } }, { $set: { [PLACE]: place } }, { $sort: { [PLACE]: 1 } }];
}

function oneOf(keys: readonly Stored[]): AuthorizedPredicate {
  return { kind: "keys", field: "_id", keys };
}

/** Finds out whether a query matches more than a few parents. @param few one more is asked for */
export function lowerProbe(query: AuthorizedQuery, few: number): Stage[] {
  const { rule, filter } = query.root;
  return [...matchStages([rule, filter], new Names()), { $limit: few + 1 }, { $project: { _id: 1 } }];
}

/**
 * The pipeline that reads the records which `which` selects, `node.limit` at most.
 * @param alongside fields that are read with them
 */
export function lowerRecord(
  node: AuthorizedNode,
  which: Document,
  rules: Rules,
  alongside: readonly string[] = [],
): Stage[] {
  const names = new Names();
  return [
    { $match: which },
    ...matchStages([node.rule], names),
    { $limit: node.limit },
    ...output(node, rules, names, alongside),
  ];
}

/**
 * Matches and sorts. A sort that needs no join comes before the joins of the filter: along an index it then stops as
 * soon as the page is full, and only what it passes is joined.
 */
function sortedMatches(node: AuthorizedNode, rules: Rules, names: Names): Stage[] {
  const { plain, joined } = splitMatch([node.rule, node.filter], names);
  const { joins, sort } = lowerSort(node.sort, rules, names);
  const sorting = Object.keys(sort).length === 0 ? [] : [{ $sort: sort }];
  return joins.length === 0 ? [...plain, ...sorting, ...joined] : [...plain, ...joined, ...joins, ...sorting];
}

/** Cuts the page out of what is sorted. */
function cut(node: AuthorizedNode): Stage[] {
  return [
    ...(node.skip === 0 ? [] : [{ $skip: node.skip }]),
    ...(node.limit === 0 ? [] : [{ $limit: node.limit }]),
  ];
}

/** Loads the children and keeps only what the answer shows. */
function output(
  node: AuthorizedNode,
  rules: Rules,
  names: Names,
  alongside: readonly string[] = [],
): Stage[] {
  const joined = node.children.filter((child) => !isKeyOnly(child));
  const joins = joined.map((child) =>
    joinStage(child.relation, child.node.table, childPipeline(child, rules, names), childField(child)),
  );
  return [...joins, ...maskStages(node, names), { $project: projection(node, alongside) }];
}

/**
 * Marks which masks a row matches. The rows are few by now (a page), so each is looked up once more under the mask's
 * own rule: one compiler for rules, wherever they stand.
 */
function maskStages(node: AuthorizedNode, names: Names): Stage[] {
  const self = { from: node.table.collection, localField: "_id", foreignField: "_id" };
  return (node.masks ?? []).map(({ rows }, at) => ({
    $lookup: {
      ...self,
      pipeline: [...matchStages([rows], names), { $project: { _id: 1 } }],
      as: maskField(at),
    },
  }));
}

/** Holds a document where the row matches the mask. */
export function maskField(at: number): string {
  return `__m${at}`;
}

function childPipeline({ node }: Child, rules: Rules, names: Names): Stage[] {
  return [...sortedMatches(node, rules, names), ...cut(node), ...output(node, rules, names)];
}

function projection(node: AuthorizedNode, alongside: readonly string[]): Document {
  const fields = node.columns.map((column) => column.field);
  const children = node.children.map((child) =>
    isKeyOnly(child) ? child.relation.link.field : childField(child),
  );
  const masks = (node.masks ?? []).map((_, at) => maskField(at));
  return {
    _id: 1,
    ...Object.fromEntries([...fields, ...children, ...masks, ...alongside].map((field) => [field, 1])),
  };
}

/** Where a child's records lie in the parent's document. */
export function childField({ relation }: Child): string {
  return `__r_${relation.name}`;
}

/**
 * The projection that gives everything which the answer shows of a record.
 * @returns undefined when that, or whether it is shown at all, does not stand in the record's own document
 */
export function ownFields(node: AuthorizedNode, alongside: readonly string[]): Document | undefined {
  const { rule, filter, children, masks = [] } = node;
  const isWhole = rule.kind === "always" && filter.kind === "always" && masks.length === 0;
  return isWhole && children.every(isKeyOnly) ? projection(node, alongside) : undefined;
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
