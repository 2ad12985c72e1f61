// What a variable without a value does to the conditions around it. Pure.
import type { Predicate } from "./ast.js";

/**
 * Does it depend on something unknown, whatever the records are like? Only the variables of rules can cause that.
 * @param predicate in which nothing stands beside what decides it alone (see logic)
 */
export function isLeftOpen(predicate: Predicate): boolean {
  switch (predicate.kind) {
    case "unknown":
      return true;
    case "not":
      return isLeftOpen(predicate.of);
    case "related":
      return isLeftOpen(predicate.where);
    case "and":
    case "or":
      return predicate.of.some(isLeftOpen);
    default:
      return false;
  }
}

/** Is there a possible record for which it has this truth? */
export function canBe(predicate: Predicate, truth: boolean): boolean {
  switch (predicate.kind) {
    case "always":
      return truth;
    case "never":
      return !truth;
    case "unknown":
      return false;
    case "not":
      return canBe(predicate.of, !truth);
    case "and":
    case "or": {
      const needsAll = (predicate.kind === "and") === truth;
      const each = (part: Predicate): boolean => canBe(part, truth);
      return needsAll ? predicate.of.every(each) : predicate.of.some(each);
    }
    case "related":
      // Without related records a to-many relation is false, and a to-one relation neither true nor false.
      return (predicate.relation.many && !truth) || canBe(predicate.where, truth);
    default:
      return true;
  }
}
