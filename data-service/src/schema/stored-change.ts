// A change as it was noted -> the definitions of the table that it was asked of.
import type { Transition } from "../catalog/changed-fields.js";
import type { TableDefinition } from "../catalog/definition.js";
import type { TableChange } from "../mongo/change-store.js";

type Noted = Pick<TableChange, "table" | "before" | "after">;

/** As it was; undefined where the table came back. */
export function ownBefore({ table, before }: Noted): TableDefinition | undefined {
  return before.find(({ id }) => id === table);
}

/** As it was to be; undefined where the table was removed. */
export function ownAfter({ table, after }: Noted): TableDefinition | undefined {
  return after.find(({ id }) => id === table);
}

/** Both; undefined where the table came back or was removed. */
export function ownTransition(change: Noted): Transition | undefined {
  const [before, after] = [ownBefore(change), ownAfter(change)];
  return before && after && { before, after };
}
