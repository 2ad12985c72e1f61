// The conditions that a predicate combines, and the fields of the record itself that they read. Pure.
import type { AuthorizedPredicate } from "./ast.js";

/** What a predicate asks of a record: all that is no combination and no constant. */
export type Condition = Extract<
  AuthorizedPredicate,
  { readonly kind: "test" | "keys" | "candidates" | "related" | "exists" }
>;

/** Those of a predicate, in their order; what they ask of related records is part of them. */
export function conditionsIn(predicate: AuthorizedPredicate): Condition[] {
  switch (predicate.kind) {
    case "and":
    case "or":
      return predicate.of.flatMap(conditionsIn);
    case "not":
      return conditionsIn(predicate.of);
    case "always":
    case "never":
    case "unknown":
      return [];
    default:
      return [predicate];
  }
}

/** Those that stand in a negation. */
export function negatedIn(predicate: AuthorizedPredicate): Condition[] {
  if (predicate.kind === "not") return conditionsIn(predicate.of);
  return predicate.kind === "and" || predicate.kind === "or" ? predicate.of.flatMap(negatedIn) : [];
}

/** The fields of the record itself that a predicate reads. */
export function fieldsOf(predicate: AuthorizedPredicate): string[] {
  return conditionsIn(predicate).flatMap(fieldsRead);
}

function fieldsRead(condition: Condition): string[] {
  switch (condition.kind) {
    case "test":
      return [condition.column.field];
    case "keys":
      return [condition.field];
    case "related":
    case "exists":
      return condition.relation.link.on === "self" ? [condition.relation.link.field] : [];
    default:
      return [];
  }
}
