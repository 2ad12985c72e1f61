// By which changes of its table a member's values came from one field into another. Pure.
import type { Transition } from "../catalog/changed-fields.js";

/**
 * Each field was made by one change, from the field before.
 * @param member its id
 * @param changes of its table, in any order, without undos, which lead back
 * @returns those that lead from the first field to the second, in their order; undefined when that is not known any more
 */
export function valuePath(
  member: string,
  { from, to }: { readonly from: string | undefined; readonly to: string | undefined },
  changes: readonly Transition[],
): readonly Transition[] | undefined {
  const path: Transition[] = [];
  let field = to;
  while (field !== from) {
    const maker = changes.find(({ before, after }) => {
      const former = before.storage.fields[member];
      return former !== undefined && former !== field && after.storage.fields[member] === field;
    });
    if (field === undefined || maker === undefined || path.includes(maker)) return undefined;
    path.unshift(maker);
    field = maker.before.storage.fields[member];
  }
  return path;
}
