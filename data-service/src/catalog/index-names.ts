// What the names of indexes tell. Ours are named by their keys. Where that name may be taken, or where a process that wakes
// up late could mean another index by it, the name gets a prefix, and at its end the change that built it.

/** Marks the indexes that we have made in an adopted collection, or by a change. */
export const OUR_PREFIX = "portico_";

/** The end of an index's name that tells which change built it. */
export function builtBy(change: string): string {
  return `_${change}`;
}

const BUILT_BY_A_CHANGE = /_[0-9a-f]{24}$/;

/** Was an index of this name built by a change: by this one, or by any? */
export function isBuilt(name: string, change?: string): boolean {
  if (!name.startsWith(OUR_PREFIX)) return false;
  return change === undefined ? BUILT_BY_A_CHANGE.test(name) : name.endsWith(builtBy(change));
}

/** The name, by its keys, of an index that may be one of ours. */
export function keyName(name: string): string {
  return name.startsWith(OUR_PREFIX) ? name.slice(OUR_PREFIX.length).replace(BUILT_BY_A_CHANGE, "") : name;
}
