// A relation in a filter -> the question "which keys?", and its answer put in the relation's place. Pure.
//
// A join costs MongoDB a tenth of a millisecond or more for every document it looks at; asking the other table for the
// matching keys first costs as much as there are matches. So that is tried first, up to a limit; beyond it we join.
import type { Stored } from "../../catalog/stored.js";
import type { AuthorizedPredicate, AuthorizedRelated, Keyed } from "../ast.js";
import { askedTruth, deciding, matchStages } from "../lower/condition.js";
import { type Document, Names, type Stage } from "../lower/document.js";
import { OWN_ID } from "../lower/links.js";
import { withCandidates } from "./candidates.js";

/**
 * The pipeline on the target's collection whose documents hold the keys in `keyField`. It projects that field as it is: a
 * `find` can do that, and from an index alone.
 * @param maxKeys one more is asked for, to tell "all" from "too many"; one record may have any number of keys
 */
export function keyQuestion(predicate: AuthorizedRelated, wanted: boolean, maxKeys: number): Stage[] {
  const field = keyField(predicate);
  const only: Document = field === "_id" ? { _id: 1 } : { _id: 0, [field]: 1 };
  return [...eachKey(predicate, wanted), { $limit: maxKeys + 1 }, { $project: only }];
}

/** Like `keyQuestion`, without repetitions and with the keys in `_id`: it reads everything that matches before it answers. */
export function distinctKeyQuestion(predicate: AuthorizedRelated, wanted: boolean, maxKeys: number): Stage[] {
  return [
    ...eachKey(predicate, wanted),
    { $group: { _id: `$${keyField(predicate)}` } },
    { $limit: maxKeys + 1 },
  ];
}

/** A document for each key: a list of links in the target has many. */
function eachKey(predicate: AuthorizedRelated, wanted: boolean): Stage[] {
  const { on, list } = predicate.relation.link;
  const apart = on === "target" && list ? [{ $unwind: `$${keyField(predicate)}` }] : [];
  return [...matching(predicate, wanted), ...apart];
}

function matching(predicate: AuthorizedRelated, wanted: boolean): Stage[] {
  return matchStages([predicate.visible, withCandidates(deciding(predicate, wanted))], new Names());
}

/** The field of the target's documents that holds the keys. */
export function keyField({ relation }: Pick<AuthorizedRelated, "relation">): string {
  return relation.link.on === "self" ? "_id" : relation.link.field;
}

/**
 * The predicate that replaces the relation once its keys are known.
 * @param wanted the truth that was asked for: the result is exact for it, and for the other truth only on to-many
 */
export function answered(
  predicate: AuthorizedRelated,
  wanted: boolean,
  keys: readonly Stored[],
): AuthorizedPredicate {
  const { on, ...link } = predicate.relation.link;
  const keyed: Keyed = { kind: "keys", ...(on === "self" ? link : OWN_ID), keys };
  return askedTruth(predicate, wanted) ? keyed : { kind: "not", of: keyed };
}
