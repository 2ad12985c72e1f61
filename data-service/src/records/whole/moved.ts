// Groups records whose links are moved, by what they linked to before.
import { EJSON } from "bson";
import type { Stored } from "../../catalog/stored.js";
import { getOrMake } from "../../get-or-make.js";
import type { Moved } from "./steps.js";

/** Records whose links were the same, and that had been changed as often where they linked to nothing. */
export interface Alike extends Omit<Moved, "id"> {
  readonly ids: Stored[];
}

export function groupedByBefore(moved: readonly Moved[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const { id, ...link } of moved) {
    // In an adopted collection 1 and "1" may be ids of different records.
    const key = EJSON.stringify(link, { relaxed: false });
    getOrMake(groups, key, () => ({ ...link, ids: [] })).ids.push(id);
  }
  return [...groups.values()];
}
