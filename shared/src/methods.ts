// Methods of requests: which we know, which of them we serve, which change nothing.

/** None takes PUT; whoever sends it is told by the address itself what it takes instead. */
export const KNOWN_METHODS: readonly string[] = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "QUERY",
];

/** For an `Allow` where it is not known which of them an address takes. */
export const SERVED_METHODS: readonly string[] = KNOWN_METHODS.filter((method) => method !== "PUT");

/** RFC 9110, section 9.2.1; RFC 10008 for QUERY. */
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "QUERY"]);

/** Whether it changes nothing. */
export function isSafe(method: string): boolean {
  return SAFE.has(method);
}
