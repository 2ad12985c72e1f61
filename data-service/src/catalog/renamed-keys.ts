// Uniques and indexes name members; when members are renamed or removed, these keys follow.

type Keys = readonly (readonly string[])[];

/**
 * Keys with their names replaced; a minus before a name stays, and what every table has keeps its name.
 * @param names by former name; undefined for a member that is gone, whose keys go with it
 */
export function renamedKeys(keys: Keys, names: ReadonlyMap<string, string | undefined>): string[][] {
  const rename = (name: string): string | undefined => {
    const bare = name.replace(/^-/, "");
    const renamed = names.has(bare) ? names.get(bare) : bare;
    return renamed === undefined ? undefined : name.slice(0, name.length - bare.length) + renamed;
  };
  return keys.flatMap((key) => {
    const renamed = key.map(rename).filter((name) => name !== undefined);
    return renamed.length < key.length ? [] : [renamed];
  });
}
