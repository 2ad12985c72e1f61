// What a change of tables does to a permission rule: its names follow, and a rule that would no longer fit is switched
// off. Pure.
import type { Catalog } from "../catalog/catalog.js";
import { type FitContext, misfits } from "./check-rule.js";
import { type Followed, followNames, type StoredRule } from "./follow-names.js";

/**
 * @param rule what did not fit the catalog `before` stays as it is
 * @returns the rule for the catalog `after`; off also where a type or a value that it compares with has changed, for it
 * would grant nothing, and might grant something else after the next change
 */
export function followRule(rule: StoredRule, before: Catalog, after: Catalog, context: FitContext): Followed {
  const followed = followNames(rule, before, after);
  if (followed.kind === "off") return followed;
  const later = followed.kind === "renamed" ? { ...rule, ...followed.text } : rule;
  const [because] = misfits(later, after, context);
  const isNew = because !== undefined && misfits(rule, before, context).length === 0;
  return isNew ? { kind: "off", because } : followed;
}
