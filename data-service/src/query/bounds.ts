// What is known of a predicate where nobody knows what some of its leaves come to, such as those on related records that
// are gone: whether it is surely true, and whether it could be. Pure.
import { ALWAYS, type AuthorizedPredicate, NEVER } from "./ast.js";
import type { Leaf } from "./leaves.js";
import { conjunction, disjunction, negation } from "./logic.js";

type IsUnknown = (leaf: Leaf) => boolean;

/** True of the records of which the predicate is true, whatever those leaves come to. */
export function surely(predicate: AuthorizedPredicate, isUnknown: IsUnknown): AuthorizedPredicate {
  return bound(predicate, isUnknown, NEVER);
}

/** True of the records of which the predicate is true for something that those leaves could come to. */
export function possibly(predicate: AuthorizedPredicate, isUnknown: IsUnknown): AuthorizedPredicate {
  return bound(predicate, isUnknown, ALWAYS);
}

/** @param unknown what unknown leaves are taken for; inside a negation it is the opposite that gives the same bound */
function bound(
  predicate: AuthorizedPredicate,
  isUnknown: IsUnknown,
  unknown: typeof ALWAYS,
): AuthorizedPredicate {
  const boundOf = (each: AuthorizedPredicate) => bound(each, isUnknown, unknown);
  switch (predicate.kind) {
    case "and":
      return conjunction(predicate.of.map(boundOf));
    case "or":
      return disjunction(predicate.of.map(boundOf));
    case "not":
      return negation(bound(predicate.of, isUnknown, unknown === ALWAYS ? NEVER : ALWAYS));
    case "always":
    case "never":
    case "unknown":
      return predicate;
    default:
      return isUnknown(predicate) ? unknown : predicate;
  }
}
