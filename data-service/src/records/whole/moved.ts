// Groups records whose links are moved, by what they linked to before.
import { EJSON } from "bson";
import type { Stored } from "../../catalog/column-types.js";
import { getOrMake } from "../../get-or-make.js";
import type { Moved } from "./steps.js";

/** Records whose links were the same. */
export interface Alike extends Pick<Moved, "before" | "by"> {
  readonly ids: Stored[];
}

export function groupedByBefore(moved: readonly Moved[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const { id, before, by } of moved) {
    // In an adopted collection 1 and "1" may be ids of different records.
    const key = EJSON.stringify([before, by], { relaxed: false });
    getOrMake(groups, key, () => ({ before, by, ids: [] })).ids.push(id);
  }
  return [...groups.values()];
}
