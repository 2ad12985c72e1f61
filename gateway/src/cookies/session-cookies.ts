// Names, writes, reads and clears the session cookies; no other file does (contract, section 3.3).
import { AppError } from "@portico/shared/app-error";
import { cookieAttributes, cookiePrefix, SECURE_PREFIX } from "@portico/shared/secure-cookies";
import type { TokenPair } from "@portico/shared/token-pair";
import type { Response } from "express";
import { type CookiePair, cookiePairs } from "./cookie-header.js";

/** `__Host-` names for browsers on https, plain ones for those on http. */
export type Spelling = "prefixed" | "plain";

/** One of the tokens of cookies that may not act: all that they are good for is to end the session that it names. */
export type NamingToken = { readonly accessToken: string } | { readonly refreshToken: string };

/** What a request's cookies say about its session. */
export type SessionCookies =
  | { readonly kind: "none" }
  /** A name came twice, or a value is not plain text or too long: the request counts as unauthenticated. */
  | { readonly kind: "unusable"; readonly named: readonly NamingToken[] }
  | {
      readonly kind: "present";
      readonly spelling: Spelling;
      readonly accessToken: string | undefined;
      readonly refreshToken: string | undefined;
    };

const NAMES = ["accessToken", "refreshToken", "expTime"] as const;
/** Each is a call, and no browser has many of one name: there is one for each path and parent domain that sets it. */
const MOST_OF_ONE_NAME = 8;
/** Browsers drop a cookie whose name and value are longer together. */
const MAX_BYTES = 4096;
/** Every token we write; nothing in it needs quoting or encoding. */
const PLAIN_VALUE = /^[\w.~:+/=-]*$/;

/**
 * Reads both spellings. When one name of ours carries the prefix, only prefixed names count: a sibling
 * domain can plant a plain cookie beside ours, but never a prefixed one.
 * @param parsed what cookie-parser made of the same header
 */
export function readSessionCookies(header: string | undefined, parsed: unknown): SessionCookies {
  const pairs = cookiePairs(header);
  const prefix = NAMES.some((name) => pairs.some((pair) => pair.name === SECURE_PREFIX + name))
    ? SECURE_PREFIX
    : "";
  const ours = pairs.filter(({ name }) => NAMES.some((each) => prefix + each === name));
  if (ours.length === 0) return { kind: "none" };
  const isPlain = ours.every(
    ({ name, value }) => PLAIN_VALUE.test(value) && fits(name, value) && parsedValue(parsed, name) === value,
  );
  if (!isPlain || new Set(ours.map(({ name }) => name)).size < ours.length)
    return { kind: "unusable", named: namedBy(ours, prefix) };
  const find = (name: string): string | undefined =>
    ours.find((pair) => pair.name === prefix + name)?.value || undefined;
  const spelling = prefix === SECURE_PREFIX ? "prefixed" : "plain";
  return { kind: "present", spelling, accessToken: find("accessToken"), refreshToken: find("refreshToken") };
}

/** Of each name the last ones: ours are for `/`, and browsers send those for longer paths first (RFC 6265, section 5.4). */
function namedBy(pairs: readonly CookiePair[], prefix: string): NamingToken[] {
  const valuesOf = (name: string): string[] => {
    const own = pairs.filter((pair) => pair.name === name && pair.value !== "");
    const possible = own.filter(({ value }) => PLAIN_VALUE.test(value) && fits(name, value));
    return [...new Set(possible.map(({ value }) => value))].slice(-MOST_OF_ONE_NAME);
  };
  return [
    ...valuesOf(`${prefix}accessToken`).map((accessToken) => ({ accessToken })),
    ...valuesOf(`${prefix}refreshToken`).map((refreshToken) => ({ refreshToken })),
  ];
}

/** cookie-parser turns a value that begins with `j:` into an object and keeps the first of two: compare. */
function parsedValue(parsed: unknown, name: string): unknown {
  if (typeof parsed !== "object" || parsed === null) return undefined;
  return Object.getOwnPropertyDescriptor(parsed, name)?.value;
}

/**
 * Whether cookies of this spelling can belong to a session for this origin. On https we write no plain ones, but a sibling
 * domain can plant a session of its own with them.
 */
export function isSpellingOf(spelling: Spelling, origin: string): boolean {
  return spelling === "prefixed" || cookiePrefix(origin) === "";
}

/**
 * Sets the three cookies.
 * @param origin the web origin that receives them; https decides their spelling
 * @returns takes them off the answer again, unless it has left
 * @throws AppError BAD_GATEWAY when a token does not fit into a cookie; then none is set
 */
export function writeSessionCookies(
  response: Response,
  origin: string,
  tokens: TokenPair,
  now: Date,
): () => void {
  const cookies = [
    { name: "accessToken", value: tokens.accessToken, expires: tokens.expTime },
    { name: "refreshToken", value: tokens.refreshToken, expires: tokens.refreshExpTime },
    { name: "expTime", value: String(tokens.expTime), expires: tokens.expTime },
  ].map((cookie) => ({ ...cookie, name: cookiePrefix(origin) + cookie.name }));
  for (const { name, value } of cookies) requireFits(name, value);
  return takingBack(response, () => {
    for (const { name, value, expires } of cookies) {
      response.cookie(name, value, {
        ...cookieAttributes(name),
        // Express writes both Max-Age and Expires from this.
        maxAge: Math.max(1_000, expires - now.getTime()),
        encode: String,
      });
    }
    forbidStoring(response);
  });
}

function requireFits(name: string, value: string): void {
  if (PLAIN_VALUE.test(value) && fits(name, value)) return;
  const bytes = name.length + value.length;
  throw new AppError(
    "BAD_GATEWAY",
    `The ${name} does not fit into a cookie (${bytes} of ${MAX_BYTES} bytes).`,
  );
}

function fits(name: string, value: string): boolean {
  return name.length + value.length <= MAX_BYTES;
}

/**
 * Clears the cookies in the spelling of this origin, and in the other one if the request carried it.
 * @param header Cookie of the request
 */
export function clearSessionCookies(header: string | undefined, response: Response, origin: string): void {
  const carried = new Set(cookiePairs(header).map(({ name }) => name));
  for (const prefix of ["", SECURE_PREFIX]) {
    for (const name of NAMES.map((each) => prefix + each)) {
      if (prefix !== cookiePrefix(origin) && !carried.has(name)) continue;
      response.cookie(name, "", { ...cookieAttributes(name), maxAge: 0 });
    }
  }
  forbidStoring(response);
}

/** A person takes longer to sign in. */
const TIMELY_MS = 1_000;

/**
 * Clears the cookies, unless the answer leaves so late that the browser may have those of a new sign-in by then. A later
 * answer clears those that are still there.
 * @returns leaves them alone at once
 */
export function clearSessionCookiesInTime(
  header: string | undefined,
  response: Response,
  origin: string,
): () => void {
  const takeBack = takingBack(response, () => clearSessionCookies(header, response, origin));
  const timer = setTimeout(takeBack, TIMELY_MS).unref();
  response.once("close", () => clearTimeout(timer));
  return takeBack;
}

/** @returns takes the cookies that `set` sets off the answer again, unless it has left */
function takingBack(response: Response, set: () => void): () => void {
  const before = linesOf(response);
  set();
  const added = linesOf(response).filter((line) => !before.includes(line));
  return () => {
    if (response.headersSent) return;
    const others = linesOf(response).filter((line) => !added.includes(line));
    if (others.length > 0) response.setHeader("Set-Cookie", others);
    else response.removeHeader("Set-Cookie");
  };
}

/** What an answer sets. */
function linesOf(response: Response): readonly string[] {
  return [response.getHeader("Set-Cookie") ?? []].flat().map(String);
}

/** A shared cache must never keep an answer that carries cookies. */
function forbidStoring(response: Response): void {
  response.set("Cache-Control", "no-store");
}
