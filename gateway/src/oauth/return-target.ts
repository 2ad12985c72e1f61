// Where a sign-in may return to: the rules for `redirect` and `cookieBridgePrefix`. Pure (contract, section 3.4).
import { expectedOrigin } from "../http/same-origin.js";

/** Checked; only this is ever built into an address. */
export interface ReturnTarget {
  /** Canonical, as a URL parser writes it, and without an `error`. */
  readonly redirect: string;
  readonly origin: string;
  readonly bridgePrefix: string;
}

export type Verdict<Value> =
  | { readonly kind: "fine"; readonly value: Value }
  | { readonly kind: "refused"; readonly message: string };

const REDIRECT_MAX = 2048;
/** Printable ASCII but what parsers disagree about: backslash, quotes and angle brackets. */
const REDIRECT_CHARACTERS = /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]+$/;
const NO_ADDRESS =
  "redirect: must be an absolute http(s) address, percent-encoded, of at most 2048 characters";
const PREFIX_MAX = 128;
/** One to eight segments of unreserved characters (RFC 3986, section 2.3). */
const PREFIX = /^(?:\/[\w.~-]+){1,8}$/;
const DEFAULT_PREFIX = "/api";

/**
 * @param origins the app's own and ALLOWED_ORIGINS
 * @param prefixes by origin, where it is known: the one prefix under which its app proxies the API
 */
export function readReturnTarget(
  given: { readonly redirect: string | undefined; readonly cookieBridgePrefix: string | undefined },
  origins: readonly string[],
  prefixes: ReadonlyMap<string, string>,
): Verdict<ReturnTarget> {
  const redirect = readRedirect(given.redirect, origins);
  if (redirect.kind === "refused") return redirect;
  const prefix = given.cookieBridgePrefix ?? DEFAULT_PREFIX;
  if (!isPrefix(prefix)) {
    return refused("cookieBridgePrefix: must be one to eight plain path segments, such as /api or /svc/api");
  }
  const { href, origin } = redirect.value;
  // Whoever begins a sign-in chooses where its code goes, and another path of that origin might belong to somebody else.
  const only = prefixes.get(origin);
  if (only !== undefined && prefix !== only)
    return refused(`cookieBridgePrefix: must be ${only} for ${origin}, as ALLOWED_ORIGINS says`);
  return { kind: "fine", value: { redirect: withoutError(href), origin, bridgePrefix: prefix } };
}

/** Pages give their own address, which may still tell of the sign-in before. Leaves the rest as it is, byte for byte. */
function withoutError(href: string): string {
  const url = new URL(href);
  const pairs = url.search.slice(1).split("&");
  const others = pairs.filter((pair) => !/^error(?:=|$)/.test(pair));
  if (others.length === pairs.length) return href;
  url.search = others.join("&");
  return url.href;
}

/**
 * The text must begin with an allowed origin, character by character, and a URL parser must see the same origin: either
 * check alone has been fooled before.
 */
export function readRedirect(
  redirect: string | undefined,
  origins: readonly string[],
): Verdict<{ readonly href: string; readonly origin: string }> {
  if (redirect === undefined || redirect === "") {
    return refused("redirect: is required; give the absolute address to return to");
  }
  if (!REDIRECT_CHARACTERS.test(redirect) || !URL.canParse(redirect)) return refused(NO_ADDRESS);
  const { href, origin, protocol, username, password } = new URL(redirect);
  // As the parser writes it, where a quote in the query takes three characters: the bridge is given it so, and checks it again.
  if (Math.max(redirect.length, href.length) > REDIRECT_MAX) return refused(NO_ADDRESS);
  if (protocol !== "http:" && protocol !== "https:") return refused("redirect: must be an http(s) address");
  if (username !== "" || password !== "") return refused("redirect: must not carry a user name or password");
  if (!origins.includes(origin)) {
    return refused(`redirect: ${origin} is not allowed; ${expectedOrigin(origins, origin)}`);
  }
  const end = redirect.charAt(origin.length);
  if (!redirect.startsWith(origin) || !["", "/", "?", "#"].includes(end)) {
    return refused(`redirect: write it as ${origin}/…, without anything else before the path`);
  }
  return { kind: "fine", value: { href, origin } };
}

/** `..` and `.` consist of allowed characters but mean something to every parser; `auth` would appear twice. */
export function isPrefix(text: string): boolean {
  if (text.length > PREFIX_MAX || !PREFIX.test(text)) return false;
  const segments = text.slice(1).split("/");
  return segments.at(-1) !== "auth" && segments.every((segment) => segment !== "." && segment !== "..");
}

function refused(message: string): { readonly kind: "refused"; readonly message: string } {
  return { kind: "refused", message };
}
