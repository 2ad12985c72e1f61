// A change as it was noted -> the definitions of the table that it was about.
import type { Transition } from "../catalog/changed-fields.js";
import type { TableDefinition } from "../catalog/definition.js";
import type { TableChange } from "../mongo/change-store.js";
import { valuePath } from "./value-path.js";

type Noted = Pick<TableChange, "table" | "before" | "after">;

/** As it was; undefined if the table came back. */
export function ownBefore({ table, before }: Noted): TableDefinition | undefined {
  return before.find(({ id }) => id === table);
}

/** As it was to be; undefined if the table was removed. */
export function ownAfter({ table, after }: Noted): TableDefinition | undefined {
  return after.find(({ id }) => id === table);
}

/** Both; undefined if the table came back or was removed. */
export function ownTransition(change: Noted): Transition | undefined {
  const [before, after] = [ownBefore(change), ownAfter(change)];
  return before && after && { before, after };
}

/** By which changes a member's values came from one field to another; see value-path. */
export type PathOf = (
  member: string,
  between: Parameters<typeof valuePath>[1],
) => ReturnType<typeof valuePath>;

/** @param known all changes of the table that are kept */
export function pathsIn(known: readonly TableChange[]): PathOf {
  const made = known.filter(({ undoes }) => undoes === null).flatMap((each) => ownTransition(each) ?? []);
  return (member, between) => valuePath(member, between, made);
}
