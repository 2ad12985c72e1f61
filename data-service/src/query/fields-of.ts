// Which of a record's own fields decide about it. Pure.
import type { AuthorizedPredicate } from "./ast.js";

/** The fields of the record itself that a predicate reads. */
export function fieldsOf(predicate: AuthorizedPredicate): string[] {
  switch (predicate.kind) {
    case "and":
    case "or":
      return predicate.of.flatMap(fieldsOf);
    case "not":
      return fieldsOf(predicate.of);
    case "test":
      return [predicate.column.field];
    case "keys":
      return [predicate.field];
    case "related":
    case "exists":
      return predicate.relation.link.on === "self" ? [predicate.relation.link.field] : [];
    default:
      return [];
  }
}
