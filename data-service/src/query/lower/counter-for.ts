// Which counter tells how many related records a caller may see.
import type { Counter, Relation, Table } from "../../catalog/catalog.js";
import type { RowRules } from "../ast.js";

/** The numbers know nothing of row rules, so under a rule there is none. */
export function counterFor(relation: Relation, target: Table, rules: RowRules): Counter | undefined {
  const { counter, link } = relation;
  const usable = link.on === "target" && counter?.ready === true && rules(target).kind === "always";
  return usable ? counter : undefined;
}
