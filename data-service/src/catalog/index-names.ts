// What the names of indexes say. Ours are named by their keys; where that name may be taken, or one that wakes up late could
// mean another index by it, they have a prefix, and at the end the change that has built them.

/** How the indexes are recognised that we have made in an adopted collection, or by a change. */
export const OUR_PREFIX = "portico_";

/** How the name of an index ends that a change has built. */
export function builtBy(change: string): string {
  return `_${change}`;
}

const BUILT_BY_A_CHANGE = /_[0-9a-f]{24}$/;

/** Was an index of this name built by a change: by that one, or by any? */
export function isBuilt(name: string, change?: string): boolean {
  if (!name.startsWith(OUR_PREFIX)) return false;
  return change === undefined ? BUILT_BY_A_CHANGE.test(name) : name.endsWith(builtBy(change));
}

/** The name by its keys of an index that may be one of ours. */
export function keyName(name: string): string {
  return name.startsWith(OUR_PREFIX) ? name.slice(OUR_PREFIX.length).replace(BUILT_BY_A_CHANGE, "") : name;
}
