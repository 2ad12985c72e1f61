// Looks a key up in a map or cache, and makes and stores its value when it is missing.

interface Known<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** @param make if it throws, nothing is kept */
export function getOrMake<Key, Value extends object>(
  known: Known<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  const before = known.get(key);
  if (before !== undefined) return before;
  const made = make();
  known.set(key, made);
  return made;
}
