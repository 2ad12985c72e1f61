// Sorting by _count, _max and _min over many parents: children are grouped once and merged with the parents, instead of
// being looked up for each parent. Grouping reads a child in microseconds; a look-up costs a hundred times that.
import type { Stored } from "../../catalog/stored.js";
import type { AuthorizedNode, RowRules, SortKey } from "../ast.js";
import { matchStages } from "./condition.js";
import type { Document, Names, Stage } from "./document.js";
import { eachLink } from "./each-link.js";

type AggregateKey = Exclude<SortKey, { kind: "column" }>;

/** True when every key is a column of the parent, or aggregates children that hold the parent's id. */
export function canRank(node: AuthorizedNode): boolean {
  const aggregated = node.sort.some((key) => key.kind !== "column");
  return aggregated && node.sort.every(isRankable);
}

function isRankable(key: SortKey): boolean {
  return key.kind === "column" ? key.path.length === 0 : key.step.relation.link.on === "target";
}

/**
 * The stages that leave one document for each matching parent, in order, with its `_id`. They follow the $match of the
 * parents.
 * @param parents the only parents that matter, if a window has found them
 */
export function rankStages(
  node: AuthorizedNode,
  rules: RowRules,
  names: Names,
  parents?: readonly Stored[],
): Stage[] {
  const own = node.sort.flatMap((key, at): [string, string][] =>
    key.kind === "column" && !isId(key, node) ? [[`k${at}`, `$${key.column.field}`]] : [],
  );
  const unions = node.sort.flatMap((key, at) =>
    key.kind === "column" ? [] : [union(key, `k${at}`, rules, names, parents)],
  );
  const merged = node.sort.flatMap((key, at): [string, Document][] =>
    isId(key, node) ? [] : [[`k${at}`, { $max: `$k${at}` }]],
  );
  return [
    { $project: { _id: 1, parent: { $literal: 1 }, ...Object.fromEntries(own) } },
    ...unions,
    { $group: { _id: "$_id", parent: { $max: "$parent" }, ...Object.fromEntries(merged) } },
    { $match: { parent: 1 } },
    { $set: Object.fromEntries(node.sort.flatMap(fillIn)) },
    { $sort: Object.fromEntries(node.sort.flatMap((key, at) => sortEntries(key, at, node))) },
  ];
}

/** Documents are grouped by the id, so it needs no field of its own. */
function isId(key: SortKey, node: AuthorizedNode): boolean {
  return key.kind === "column" && key.column === node.table.idColumn;
}

/** Adds one document for each parent id that children name, with the aggregate of these children. */
function union(
  key: AggregateKey,
  field: string,
  rules: RowRules,
  names: Names,
  parents: readonly Stored[] | undefined,
): Stage {
  const { relation, target } = key.step;
  const link = relation.link.field;
  const value: Document = key.kind === "count" ? { $sum: 1 } : { [`$${key.kind}`]: `$${key.column.field}` };
  const pipeline: Stage[] = [
    ...matchStages([rules(target)], names),
    // A list also yields the ids of other parents; they have no parent document, so they are dropped below.
    ...eachLink(relation.link, parents),
    { $group: { _id: `$${link}`, [field]: value } },
  ];
  return { $unionWith: { coll: target.collection, pipeline } };
}

/** No children: count 0, and for max and min a flag that puts the parent last in both directions. */
function fillIn(key: SortKey, at: number): [string, Document][] {
  const field = `$k${at}`;
  if (key.kind === "column") return [];
  if (key.kind === "count") return [[`k${at}`, { $ifNull: [field, 0] }]];
  return [[`m${at}`, { $eq: [{ $ifNull: [field, null] }, null] }]];
}

function sortEntries(key: SortKey, at: number, node: AuthorizedNode): [string, 1 | -1][] {
  const direction = key.descending ? -1 : 1;
  if (isId(key, node)) return [["_id", direction]];
  const value: [string, 1 | -1] = [`k${at}`, direction];
  return key.kind === "max" || key.kind === "min" ? [[`m${at}`, 1], value] : [value];
}
