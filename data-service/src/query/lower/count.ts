// A query -> how to count its rows: without a query if the number is known, otherwise by a pipeline that joins or groups.
import type { AuthorizedPredicate, AuthorizedQuery, MetaKey } from "../ast.js";
import { isLivingOnly } from "../living.js";
import {
  conjunctsOf,
  deciding,
  isFoundWanted,
  isRelational,
  matchStages,
  type Relational,
  whereKnown,
} from "./condition.js";
import { allOf, type Document, matching, Names, type Stage } from "./document.js";
import { eachLink } from "./each-link.js";

/** The pipeline that counts the rows of a query, as `value`: `filterCount` with the client's filter, `totalCount` without. */
export function lowerCount(query: AuthorizedQuery, which: MetaKey): Stage[] {
  return [...matchStages(counted(query, which), new Names()), COUNT];
}

/** Does every row of the table count? */
export function countsAll(query: AuthorizedQuery, which: MetaKey): boolean {
  return counted(query, which).every((predicate) => predicate.kind === "always");
}

/** Does every living record of the table count, and nothing else? */
export function countsLiving(query: AuthorizedQuery, which: MetaKey): boolean {
  const saying = counted(query, which).filter(({ kind }) => kind !== "always");
  return saying.length === 1 && saying.every((predicate) => isLivingOnly(query.root.table, predicate));
}

const COUNT: Stage = { $count: "value" };

function counted({ root }: AuthorizedQuery, which: MetaKey): AuthorizedPredicate[] {
  return which === "filterCount" ? [root.rule, root.filter] : [root.rule];
}

/** Another way to count, and a probe for how many rows a join would have to look at, which tells whether it is worth it. */
export interface GroupedCount {
  readonly pipeline: Stage[];
  /** Finds out whether more than a few rows are left to be joined. @param few one more is asked for */
  readonly probe: (few: number) => Stage[];
}

/** One relation that every counted row has to satisfy, or must not satisfy. */
interface Side {
  readonly predicate: Relational;
  readonly wanted: boolean;
}

/**
 * Groups instead of joining, where the filter is an AND of relations that share one key with the rows. For relations that
 * match too much for their keys to be listed: both sides are grouped by that key, instead of looking up the other side for
 * every row. Grouping reads a document in microseconds; a look-up costs a hundred times that.
 */
export function groupedCount(query: AuthorizedQuery, which: MetaKey): GroupedCount | undefined {
  const conjuncts = counted(query, which).flatMap(conjunctsOf);
  const sides = conjuncts.filter(isRelational).map(asSide);
  const key = sharedKey(sides);
  if (key === undefined) return undefined;
  const names = new Names();
  const known = sides.flatMap((side) => (side === undefined ? [] : [side]));
  const own = [
    ...matchStages(
      conjuncts.filter((each) => !isRelational(each)),
      names,
    ),
    ...matching(allOf(known.map(({ predicate, wanted }) => whereKnown(predicate, wanted)))),
  ];
  return {
    probe: (few) => [...own, { $limit: few + 1 }, { $project: { _id: 1 } }],
    pipeline: [
      ...own,
      { $group: { _id: `$${key}`, rows: { $sum: 1 } } },
      ...known.map((side, at) => union(side, at, names)),
      { $group: { _id: "$_id", rows: { $sum: "$rows" }, ...Object.fromEntries(known.map(flag)) } },
      { $match: Object.fromEntries(known.map(condition)) },
      { $group: { _id: null, value: { $sum: "$rows" } } },
    ],
  };
}

function asSide(predicate: AuthorizedPredicate): Side | undefined {
  if (predicate.kind === "related" || predicate.kind === "exists") return { predicate, wanted: true };
  if (predicate.kind !== "not") return undefined;
  const side = asSide(predicate.of);
  return side === undefined ? undefined : { ...side, wanted: !side.wanted };
}

/** The field of the rows by which all sides can be grouped: the id for children, the link for one to-one relation. */
function sharedKey(sides: readonly (Side | undefined)[]): string | undefined {
  const keys = sides.map((side) => {
    if (side === undefined) return undefined;
    const { on, field, list } = side.predicate.relation.link;
    return on === "target" ? "_id" : list ? undefined : field;
  });
  const [first] = keys;
  return keys.every((key) => key === first) ? first : undefined;
}

/** One document for every key for which the relation has a record that decides the question. */
function union({ predicate, wanted }: Side, at: number, names: Names): Stage {
  const { relation, target, visible } = predicate;
  const { on, field } = relation.link;
  const key = on === "target" ? field : "_id";
  const pipeline: Stage[] = [
    ...matchStages([visible, deciding(predicate, wanted)], names),
    ...(on === "target" ? eachLink(relation.link) : []),
    { $group: { _id: `$${key}`, [`f${at}`]: { $max: { $literal: 1 } } } },
  ];
  return { $unionWith: { coll: target.collection, pipeline } };
}

function flag(_side: Side, at: number): [string, Document] {
  return [`f${at}`, { $max: `$f${at}` }];
}

function condition({ predicate, wanted }: Side, at: number): [string, Document] {
  return [`f${at}`, isFoundWanted(predicate, wanted) ? { $eq: 1 } : { $ne: 1 }];
}
