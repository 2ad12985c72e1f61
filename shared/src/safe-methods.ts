// Methods that change nothing (RFC 9110, section 9.2.1; RFC 10008 for QUERY).
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "QUERY"]);

export function isSafe(method: string): boolean {
  return SAFE.has(method);
}
