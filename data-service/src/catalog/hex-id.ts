// The ids of our own tables as text. Pure.

/** An id as it is answered, from how a client may write it: in capitals, too. Undefined for anything else. */
export function hexId(given: unknown): string | undefined {
  return typeof given === "string" && /^[0-9a-f]{24}$/i.test(given) ? given.toLowerCase() : undefined;
}
