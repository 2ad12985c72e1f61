// The `fields` of a rule -> which members of the table it is about.
import { type Column, isOpen, type Relation, type Table } from "../catalog/catalog.js";
import { refuse, unknownField } from "../query/refuse.js";
import { parseFields } from "../query/syntax/fields.js";
import type { Action } from "./rule.js";

export type Members = (member: Column | Relation) => boolean;

/**
 * Reads the grammar of 4.2 for one table: names, `*`, and `-name` for all but that one.
 * @param fields null = `*`
 * @param action what the rule is about: a password can be written, and read by nobody
 * @throws AppError 400 for unknown names, for names inside relations and for counts
 */
export function membersOf(fields: string | null, table: Table, action: Action): Members {
  if (fields === null) return isOpen;
  const scope = parseFields(fields, "fields");
  const [inside] = scope.nested.keys();
  if (inside !== undefined)
    throw refuse(
      "fields",
      `"${inside}." reaches into another table; rules of that table say what is seen there`,
    );
  const [counted] = scope.counts;
  if (counted !== undefined)
    throw refuse("fields", `"_count(${counted})" is no member; whoever may read "${counted}" may count it`);
  const isKnown = ({ secret }: Column): boolean => !secret || action === "create" || action === "update";
  const known = [...table.columns.values()].filter(isKnown).map(({ name }) => name);
  const names = [...known, ...table.relations.keys()];
  for (const name of [...scope.names, ...scope.excluded])
    if (!names.includes(name)) throw unknownField("fields", name, table.name, names);
  const { excluded } = scope;
  if (excluded.size > 0) return (member) => isOpen(member) && !excluded.has(member.name);
  if (scope.star) return (member) => isOpen(member) || scope.names.has(member.name);
  return (member) => scope.names.has(member.name);
}
