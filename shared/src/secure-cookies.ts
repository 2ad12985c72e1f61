// How our cookies are spelt and kept: on https with a prefix, which no sibling domain can plant a cookie with.

export const SECURE_PREFIX = "__Host-";

/** @param origin the web origin that receives the cookie */
export function cookiePrefix(origin: string): string {
  return origin.startsWith("https:") ? SECURE_PREFIX : "";
}

export function isSecureCookie(name: string): boolean {
  return name.startsWith(SECURE_PREFIX);
}

/** Lax: a provider sends the browser back from another site. */
export function cookieAttributes(name: string) {
  return { httpOnly: true, sameSite: "lax", path: "/", secure: isSecureCookie(name) } as const;
}
