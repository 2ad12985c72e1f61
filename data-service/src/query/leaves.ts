// The leaves of a predicate, and the fields of the record itself that they read. Pure.
import type { Table } from "../catalog/catalog.js";
import type { AuthorizedPredicate } from "./ast.js";

/** A part of a predicate that asks something of a record: neither a combination nor a constant. */
export type Leaf = Extract<
  AuthorizedPredicate,
  { readonly kind: "test" | "keys" | "candidates" | "related" | "exists" }
>;

/** Those of a predicate, in their order; what they ask of related records is part of them. */
export function leavesIn(predicate: AuthorizedPredicate): Leaf[] {
  switch (predicate.kind) {
    case "and":
    case "or":
      return predicate.of.flatMap(leavesIn);
    case "not":
      return leavesIn(predicate.of);
    case "always":
    case "never":
    case "unknown":
      return [];
    default:
      return [predicate];
  }
}

/** Those that stand in a negation. */
export function negatedLeavesIn(predicate: AuthorizedPredicate): Leaf[] {
  if (predicate.kind === "not") return leavesIn(predicate.of);
  return predicate.kind === "and" || predicate.kind === "or" ? predicate.of.flatMap(negatedLeavesIn) : [];
}

/** The fields of the record itself that a predicate reads. */
export function fieldsOf(predicate: AuthorizedPredicate): string[] {
  return leavesIn(predicate).flatMap(fieldsRead);
}

/**
 * The fields of one table's records that a predicate about any record reads, also where relations lead to them.
 * @param about the table that the predicate is about
 */
export function fieldsInTable(predicate: AuthorizedPredicate, table: Table, about: Table = table): string[] {
  return leavesIn(predicate).flatMap((leaf) => {
    const read = about.id === table.id ? fieldsRead(leaf) : [];
    if (leaf.kind !== "related" && leaf.kind !== "exists") return read;
    const beyond = leaf.kind === "related" ? [leaf.visible, leaf.where] : [leaf.visible];
    return [...read, ...beyond.flatMap((each) => fieldsInTable(each, table, leaf.target))];
  });
}

function fieldsRead(leaf: Leaf): string[] {
  switch (leaf.kind) {
    case "test":
      return [leaf.column.field];
    case "keys":
      return [leaf.field];
    case "related":
    case "exists":
      return leaf.relation.link.on === "self" ? [leaf.relation.link.field] : [];
    default:
      return [];
  }
}
