// What a variable without a value does to the conditions around it. Pure.
import type { Predicate } from "./ast.js";

/** Does it depend on something unknown, whatever the records are like? Only the variables of rules can cause that. */
export function isLeftOpen(predicate: Predicate): boolean {
  switch (predicate.kind) {
    case "unknown":
      return true;
    case "not":
      return isLeftOpen(predicate.of);
    case "related":
      return isLeftOpen(predicate.where);
    case "and":
    case "or": {
      const deciding = predicate.kind === "or";
      return predicate.of.some(isLeftOpen) && !predicate.of.some((each) => isAlways(each, deciding));
    }
    default:
      return false;
  }
}

/** Does it have this truth for every possible record? */
function isAlways(predicate: Predicate, truth: boolean): boolean {
  return has(predicate, truth, { byRecord: false });
}

/** Is there a possible record for which it has this truth? */
export function canBe(predicate: Predicate, truth: boolean): boolean {
  return has(predicate, truth, { byRecord: true });
}

/** @param otherwise what to answer for anything that depends on the record */
function has(predicate: Predicate, truth: boolean, otherwise: { readonly byRecord: boolean }): boolean {
  switch (predicate.kind) {
    case "always":
      return truth;
    case "never":
      return !truth;
    case "unknown":
      return false;
    case "not":
      return has(predicate.of, !truth, otherwise);
    case "and":
    case "or": {
      const needsAll = (predicate.kind === "and") === truth;
      const each = (part: Predicate): boolean => has(part, truth, otherwise);
      return needsAll ? predicate.of.every(each) : predicate.of.some(each);
    }
    case "related":
      // Without related records a to-many relation is false, and a to-one relation neither true nor false.
      return (
        otherwise.byRecord && ((predicate.relation.many && !truth) || has(predicate.where, truth, otherwise))
      );
    default:
      return otherwise.byRecord;
  }
}
