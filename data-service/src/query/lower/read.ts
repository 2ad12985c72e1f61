// AuthorizedQuery -> aggregation pipelines. Slots in fixed order: match without joins, sort if it needs no join, joins for
// the filter, match, joins for the sort, sort, skip, limit, child joins, project. What only serves the output runs last.
import type { LinkField, Relation } from "../../catalog/catalog.js";
import type { Stored } from "../../catalog/stored.js";
import type {
  AuthorizedChild,
  AuthorizedNode,
  AuthorizedPredicate,
  AuthorizedQuery,
  CountNode,
  RowRules,
  Step,
} from "../ast.js";
import { conjunctsOf, holdsKeys, matchStages, splitMatch } from "./condition.js";
import { type Document, Names, type Stage, type Value } from "./document.js";
import { joinStages } from "./join.js";
import { isCountJoined, isJoined, readsTogether } from "./joined-or-together.js";
import { linksTo, OWN_ID } from "./links.js";
import { ifShown, maskFields, maskStages, shownWhere } from "./masks.js";
import { rankStages } from "./rank.js";
import { countJoin, lowerSort } from "./sort.js";

/**
 * The pipeline of a list, on the root table's collection. Its output leaves relations out as `isTogether` says.
 * @param ranking groups children once instead of looking them up for each parent (see rank.ts)
 */
export function lowerList(query: AuthorizedQuery, ranking: Ranking = NO_RANKING): Stage[] {
  const names = new Names();
  const { root, rules } = query;
  const shown = output(root, rules, names, { together: readsTogether(root) });
  if (ranking.kind === "none") return [...sortedMatches(root, rules, names), ...cut(root), ...shown];
  if (ranking.kind === "page") {
    return [
      { $match: { _id: { $in: [...ranking.parents] } } },
      ...matchStages([root.rule, root.filter], names),
      ...shown,
    ];
  }
  const parents = ranking.kind === "among" ? ranking.parents : undefined;
  const self = { from: root.table.collection, localField: "_id", foreignField: "_id" };
  return [
    ...matchStages([root.rule, root.filter, ...(parents === undefined ? [] : [oneOf(parents)])], names),
    ...rankStages(root, rules, names, parents),
    ...cut(root),
    { $lookup: { ...self, pipeline: [...matchStages(askedAgain(root), names), ...shown], as: "record" } },
    // A record that was deleted since, or matches no more, is left out.
    { $unwind: "$record" },
    { $replaceRoot: { newRoot: "$record" } },
  ];
}

/**
 * What a ranked record must satisfy once more: it is read as it is by then, and a slow client may come to it minutes later.
 * Keys that a part of the filter was replaced by, or that stand before the rule, are as they were: there may be thousands, and
 * MongoDB parses them for each record.
 */
function askedAgain({ rule, filter }: AuthorizedNode): AuthorizedPredicate[] {
  return [rule, filter].flatMap(conjunctsOf).filter((each) => !holdsKeys(each));
}

/** How a list sorted by aggregates is run. */
export type Ranking =
  /** As in any other list: the related records are looked up for each parent. */
  | { readonly kind: "none" }
  /** All of them are grouped once. */
  | { readonly kind: "all" }
  /** They are grouped once, for the only parents that can be on the page. */
  | { readonly kind: "among"; readonly parents: readonly Stored[] }
  | PageOfParents;

/** These parents are the page, in its order; the records that are read may come in any order. */
export interface PageOfParents {
  readonly kind: "page";
  readonly parents: readonly Stored[];
  /** Those that come first, and a few more in case one of the page is gone. */
  readonly reserve?: readonly Stored[];
}

export const NO_RANKING: Ranking = { kind: "none" };

function oneOf(keys: readonly Stored[]): AuthorizedPredicate {
  return { kind: "keys", ...OWN_ID, keys };
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
  rules: RowRules,
  alongside: readonly string[] = [],
): Stage[] {
  const names = new Names();
  return [
    { $match: which },
    ...matchStages([node.rule], names),
    { $limit: node.limit },
    ...output(node, rules, names, { alongside, together: readsTogether(node) }),
  ];
}

/** One query for a relation's records under many parents. */
export interface Together {
  /** Ids of the related records, or of the parents that these name. */
  readonly keys: readonly Stored[];
  /** Reads no more than this many; undefined: the keys say how many there can be. */
  readonly most: number | undefined;
}

/**
 * The pipeline that reads a relation's records for many parents (see plan/together), on the collection of the related
 * records. Each of them names its parents.
 */
export function lowerTogether(
  { relation, node }: AuthorizedChild,
  { keys, most }: Together,
  rules: RowRules,
): Stage[] {
  const names = new Names();
  const link = linkedIn(relation);
  return [
    { $match: linksTo(link, keys) },
    ...sortedMatches(node, rules, names),
    ...(most === undefined ? [] : [{ $limit: most }]),
    ...output(node, rules, names, { alongside: [link.field], together: true }),
  ];
}

/** The pipeline that joins a relation's records to some parents, on the collection of the parents. */
export function lowerApart(child: AuthorizedChild, parents: readonly Stored[], rules: RowRules): Stage[] {
  const field = childField(child);
  const pipeline = childPipeline(child, rules, new Names());
  return [
    { $match: { _id: { $in: [...parents] } } },
    ...joinStages(child.relation, child.node.table, pipeline, field),
    { $project: { _id: 1, [field]: 1 } },
  ];
}

/** The field of a group that holds the number of counted records. */
export const GROUP_SIZE = "n";

/**
 * The pipeline that counts a relation's records for many parents (see plan/together), on the collection of the related
 * records: one group for each key that has some. For a many-to-many relation whose links the parents hold, the keys are
 * those of the related records, and each one that exists is a group of one.
 */
export function lowerCounts({ relation, target }: Step, keys: readonly Stored[], rules: RowRules): Stage[] {
  const link = linkedIn(relation);
  const { field, list } = link;
  return [
    { $match: linksTo(link, keys) },
    ...matchStages([rules(target)], new Names()),
    ...(list ? onlyKeys(field, keys) : []),
    { $group: { _id: `$${field}`, [GROUP_SIZE]: { $sum: 1 } } },
  ];
}

/** A document for each of these keys that a list names, once; another program may have written a single one. */
function onlyKeys(field: string, keys: readonly Stored[]): Stage[] {
  const list = { $cond: [{ $isArray: `$${field}` }, `$${field}`, [`$${field}`]] };
  return [
    { $project: { [field]: { $setIntersection: [list, { $literal: [...keys] }] } } },
    { $unwind: `$${field}` },
  ];
}

/** The pipeline that joins the number of a relation's records to some parents, on the collection of the parents. */
export function lowerCountsApart(count: CountNode, parents: readonly Stored[], rules: RowRules): Stage[] {
  return [
    { $match: { _id: { $in: [...parents] } } },
    ...joinedCount(count, rules, new Names()),
    { $project: { _id: 1, [countField(count)]: 1 } },
  ];
}

function joinedCount(count: CountNode, rules: RowRules, names: Names): Stage[] {
  return countJoin(count.step, rules, names, countField(count), countField(count));
}

/** The field in which a related record says whose it is. */
function linkedIn({ link }: Relation): LinkField {
  return link.on === "self" ? OWN_ID : link;
}

/**
 * Matches and sorts. A sort that needs no join comes before the joins of the filter: along an index it then stops as soon as
 * the page is full, and joins only what it passes.
 */
function sortedMatches(node: AuthorizedNode, rules: RowRules, names: Names): Stage[] {
  const { plain, joined } = splitMatch([node.rule, node.filter], names);
  const { joins, sort } = lowerSort(node.sort, rules, names);
  const sorting = Object.keys(sort).length === 0 ? [] : [{ $sort: sort }];
  return joins.length === 0 ? [...plain, ...sorting, ...joined] : [...plain, ...joined, ...joins, ...sorting];
}

/** Cuts the page out of the sorted records. */
function cut(node: AuthorizedNode): Stage[] {
  return [
    ...(node.skip === 0 ? [] : [{ $skip: node.skip }]),
    ...(node.limit === 0 ? [] : [{ $limit: node.limit }]),
  ];
}

interface OutputOptions {
  /** Further fields to read. */
  readonly alongside?: readonly string[];
  /** Leaves out relations that are read for all records together. */
  readonly together?: boolean;
}

/** Loads the children and keeps only what the answer shows. */
function output(node: AuthorizedNode, rules: RowRules, names: Names, options: OutputOptions = {}): Stage[] {
  const marks = maskStages(node, names);
  const joined = node.children.filter((child) => isJoined(child, options.together));
  const joins = joined.flatMap((child) =>
    joinStages(
      child.relation,
      child.node.table,
      childPipeline(child, rules, names),
      childField(child),
      shownWhere(node, child.relation.name),
    ),
  );
  const counts = node.counts.filter((count) => isCountJoined(count, options.together));
  const counted = counts.flatMap((count) => joinedCount(count, rules, names));
  return [...marks, ...joins, ...counted, { $project: projection(node, options) }];
}

function childPipeline({ node }: AuthorizedChild, rules: RowRules, names: Names): Stage[] {
  return [...sortedMatches(node, rules, names), ...cut(node), ...output(node, rules, names)];
}

function projection(node: AuthorizedNode, { alongside = [], together }: OutputOptions): Document {
  const fields = node.columns.map(({ name, field }): [string, Value] => [field, ifShown(node, name, field)]);
  const children = node.children.map((child): [string, Value] => {
    const { name, link } = child.relation;
    const { on, list, field } = link;
    if (isJoined(child, together)) return [childField(child), 1];
    return on === "self"
      ? [field, ifShown(node, name, field, list ? firstLinks(field) : undefined)]
      : ["_id", 1];
  });
  const counts = node.counts.map((count): [string, Value] => {
    const { name, link } = count.step.relation;
    const { on, field } = link;
    if (count.kind === "stored") return [countField(count), ifShown(node, name, countField(count))];
    if (isCountJoined(count, together)) return [countField(count), 1];
    return on === "self" ? [field, ifShown(node, name, field, firstLinks(field))] : ["_id", 1];
  });
  const others = [...maskFields(node), ...alongside].map((field): [string, Value] => [field, 1]);
  return {
    _id: 1,
    ...Object.fromEntries([...fields, ...others, ...children, ...counts]),
  };
}

/** How many links of one record are looked at here; if there are more, only the database looks at them. */
export const MOST_LINKS = 100;

/** The first of a list of links; another program may have written something else. */
function firstLinks(field: string): Document {
  const first = { $slice: [`$${field}`, MOST_LINKS + 1] };
  return { $cond: [{ $isArray: `$${field}` }, first, `$${field}`] };
}

/** Where the number of related records lies in the parent's document. */
export function countField(count: CountNode): string {
  return count.kind === "stored" ? count.column.field : `__c_${count.step.relation.name}`;
}

/** Where a child's records lie in the parent's document. */
export function childField({ relation }: AuthorizedChild): string {
  return `__r_${relation.name}`;
}

/**
 * The projection that gives everything which the answer shows of a record.
 * @returns undefined when that, or whether it is shown at all, is not in the record's own document
 */
export function ownFields(node: AuthorizedNode, options: OutputOptions = {}): Document | undefined {
  const { rule, filter, children, counts, masks } = node;
  const isWhole = rule.kind === "always" && filter.kind === "always" && masks.length === 0;
  const isOwn =
    children.every((child) => !isJoined(child, options.together)) &&
    counts.every((count) => !isCountJoined(count, options.together));
  return isWhole && isOwn ? projection(node, options) : undefined;
}
