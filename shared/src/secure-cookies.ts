// How our cookies are spelt and kept: on https with a prefix, which no sibling domain can plant a cookie with.

export const SECURE_PREFIX = "__Host-";

/** @param origin the web origin that receives the cookie */
export function cookiePrefix(origin: string): string {
  return origin.startsWith("https:") ? SECURE_PREFIX : "";
}

export function isSecureCookie(name: string): boolean {
  return name.startsWith(SECURE_PREFIX);
}

/**
 * Lax: a provider sends the browser back from another site. Priority: Chromium keeps 180 cookies for a domain and all below it,
 * and drops those of high priority last; browsers that know none ignore it.
 */
export function cookieAttributes(name: string) {
  const secure = isSecureCookie(name);
  return { httpOnly: true, sameSite: "lax", path: "/", priority: "high", secure } as const;
}
