// Links stored in other tables' records: setting them changes those records, so the rules for updating them apply.
import { AppError } from "@portico/shared/app-error";
import { type Catalog, owningRelation, type Table } from "../catalog/catalog.js";
import type { Stored } from "../catalog/column-types.js";
import type { WriteGrant } from "../permission/compile-rules.js";
import type { Rights } from "../permission/rights.js";
import { ALWAYS, type AuthorizedPredicate } from "../query/ast.js";
import { matchStages } from "../query/lower/condition.js";
import { type Document, Names } from "../query/lower/document.js";
import type { LinkSet } from "./check-body.js";
import type { RecordDeps } from "./deps.js";
import { formerLinks } from "./former-links.js";
import { requireLinked } from "./require-linked.js";
import type { WritePlan } from "./write-plan.js";

/**
 * Lets the foreign links of a write pass or refuses them.
 * @param id the record that is linked to; undefined while it is being created
 * @throws AppError 400 naming records that the caller does not see, 403
 */
export async function authorizeForeign(
  deps: Pick<RecordDeps, "store">,
  rights: Rights,
  catalog: Catalog,
  plans: readonly WritePlan[],
  id?: Stored,
): Promise<void> {
  if (rights.isRoot) return;
  for (const set of plans.flatMap((plan) => plan.foreign)) {
    // A record that the caller can't see does not exist for them, and that is said before anything else.
    await requireLinked(deps, [{ mustExist: [set] }]);
    const owning = owningRelation(set);
    const grants = rights
      .write(catalog, set.target, "update")
      .filter((grant) => owning && grant.members(owning));
    if (grants.length === 0) throw refusal(set);
    const concerned: Document[] = [{ _id: { $in: [...set.ids] } }];
    if (id !== undefined) concerned.push(await formerLinks(deps, id, set));
    for (const which of concerned) {
      if (!(await allAllowed(deps, set.target, which, grants))) throw refusal(set);
    }
  }
}

/**
 * A rule with a check could be broken by the new link, and one with presets wants more than a link to be written: they
 * do not help here.
 */
async function allAllowed(
  { store }: Pick<RecordDeps, "store">,
  table: Table,
  which: Document,
  grants: readonly WriteGrant[],
): Promise<boolean> {
  const usable = grants.filter(
    ({ check, presets }) => check.kind === "always" && Object.keys(presets).length === 0,
  );
  if (usable.length === 0) return false;
  const rows: AuthorizedPredicate = usable.some((grant) => grant.rows.kind === "always")
    ? ALWAYS
    : { kind: "or", of: usable.map((grant) => grant.rows) };
  if (rows.kind === "always") return true;
  const count = async (predicate: AuthorizedPredicate): Promise<number> =>
    store.count(table, [{ $match: which }, ...matchStages([predicate], new Names()), { $count: "value" }]);
  return (await count(ALWAYS)) === (await count(rows));
}

function refusal({ relation, target }: LinkSet): AppError {
  return new AppError(
    "FORBIDDEN",
    `${relation.name}: changing these links changes records of "${target.name}" that you may not update.`,
  );
}
