// What an undo brings back as optional, because records that are there by now can't satisfy it.
import type { RelationDefinition, TableDefinition } from "../catalog/definition.js";
import { leavesGaps } from "./ask-data.js";
import type { ChangeDeps } from "./change-deps.js";
import type { ChangePlan } from "./plan-change.js";

/**
 * Records that were written while a required column was gone have no value for it, and those whose link led to a record that
 * was deleted meanwhile lose it: then the member comes back optional. This happens only in an undo; the costs of other
 * changes were confirmed.
 */
export async function withoutUnmetNeeds(deps: ChangeDeps, plan: ChangePlan): Promise<ChangePlan> {
  const { own } = plan;
  if (plan.undoes === undefined || own.to === undefined) return plan;
  const { from, to } = own;
  const whereUnmet = async <Member extends Needing>(
    member: Member,
    isUnmet: (member: Member, field: string) => Promise<boolean>,
  ): Promise<Member> => {
    const field = to.storage.fields[member.id];
    const isBack = field !== undefined && from?.storage.fields[member.id] !== field;
    return member.required && isBack && (await isUnmet(member, field))
      ? { ...member, required: false }
      : member;
  };
  const lacks = (_member: Needing, field: string) => leavesSomeWithout(deps, plan, field);
  const lacksLinks = async (relation: RelationDefinition, field: string) =>
    (await lacks(relation, field)) || losesLinks(deps, plan, to, { relation, field });
  const columns = await Promise.all(to.columns.map((each) => whereUnmet(each, lacks)));
  const relations = await Promise.all(to.relations.map((each) => whereUnmet(each, lacksLinks)));
  return { ...plan, own: { ...own, to: { ...to, columns, relations } } };
}

type Needing = Pick<RelationDefinition, "id" | "required">;

/** The records of a table that comes back are as they were, including those that lacked a value. */
async function leavesSomeWithout(deps: ChangeDeps, plan: ChangePlan, field: string): Promise<boolean> {
  const { before, fills } = plan;
  if (before === undefined) return false;
  const restores = fills.filter((each) => each.kind === "restore" || each.kind === "restoreLinks");
  const restore = restores.find((each) => each.former === field);
  return restore === undefined
    ? (await deps.data.withoutValue(before, field)).records > 0
    : leavesGaps(deps, plan, before, restore);
}

/** Links that lead nowhere are removed once the change is in use, except in adopted documents. */
async function losesLinks(
  deps: ChangeDeps,
  { after }: ChangePlan,
  to: TableDefinition,
  { relation, field }: { readonly relation: RelationDefinition; readonly field: string },
): Promise<boolean> {
  if (after === undefined || to.storage.adopted === true) return false;
  const { tables } = await deps.catalogs.refresh();
  const target = relation.table === to.name ? after.collection : tables.get(relation.table)?.collection;
  return target !== undefined && (await deps.data.lostLinks(after, field, target)).length > 0;
}
