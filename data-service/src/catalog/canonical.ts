// Compares values as JSON.

/** Equal as JSON, whatever the order of keys. */
export function same(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

/** JSON with its keys in order and without undefined members: the same text for equal values. */
export function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? "undefined"
  );
}
