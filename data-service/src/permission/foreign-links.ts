// By which rules a caller may set links that lie in other tables' records: setting them changes those records. Pure.
import { type Catalog, owningRelation, type Relation, type Table } from "../catalog/catalog.js";
import type { WriteGrant } from "./compile-rules.js";
import type { Rights } from "./rights.js";

/** Rules for updating the records at the other end that let their links be written. Without one none can be set. */
export function foreignGrants(
  rights: Rights,
  catalog: Catalog,
  end: { readonly relation: Relation; readonly target: Table },
): WriteGrant[] {
  const owning = owningRelation(end);
  return rights
    .write(catalog, end.target, "update")
    .filter((grant) => owning && grant.members(owning))
    .filter(isEnough);
}

/**
 * A rule with a check could be broken by the new link, and one with presets wants more than a link to be written: they
 * do not help here.
 */
function isEnough({ check, presets }: WriteGrant): boolean {
  return check.kind === "always" && Object.keys(presets).length === 0;
}
