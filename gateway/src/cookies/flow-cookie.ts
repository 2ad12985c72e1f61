// Names, writes, reads and clears the flow cookies: each binds one sign-in to the browser that began it.
import { randomBytes } from "node:crypto";
import { secretHash } from "@portico/shared/secret-hash";
import { cookieAttributes, cookiePrefix, isSecureCookie } from "@portico/shared/secure-cookies";
import type { Request, Response } from "express";
import { cookiePairs } from "./cookie-header.js";

/** A cookie about to be set. */
export interface FlowCookie {
  readonly name: string;
  readonly value: string;
}

/** One per sign-in, so that several tabs do not disturb each other. */
const NAME = /^(?:__Host-)?oauthFlow-[\w-]{8}$/;
/** Seconds of the start in base 36, and the secret. */
const VALUE = /^[0-9a-z]{1,9}\.[\w-]{43}$/;
const LIFETIME_MS = 10 * 60_000;
/** Together with the session they must stay far below what servers take as a Cookie header. */
const MAX_PER_JAR = 5;
/** Another gateway wrote it, whose clock may be ahead of ours. */
const CLOCKS_DIFFER_MS = 30_000;

/** @param origin that will redeem the code: https there means Secure and the prefix */
export function makeFlowCookie(origin: string, now: Date): FlowCookie {
  const seconds = Math.floor(now.getTime() / 1000).toString(36);
  return {
    name: `${cookiePrefix(origin)}oauthFlow-${randomBytes(6).toString("base64url")}`,
    value: `${seconds}.${randomBytes(32).toString("base64url")}`,
  };
}

/** What the data service keeps a hash of: with the name, so that a planted other spelling is another cookie. */
export function flowCookieText({ name, value }: FlowCookie): string {
  return `${name}=${value}`;
}

/** The flow cookies of the request, as text. */
export function flowCookiesOf(request: Request, now: Date): readonly string[] {
  return genuineFirst(request, now).map(flowCookieText);
}

/** Sets the cookie, and clears the oldest beyond five. */
export function writeFlowCookie(
  request: Request,
  response: Response,
  { name, value }: FlowCookie,
  now: Date,
): void {
  clear(response, genuineFirst(request, now).slice(MAX_PER_JAR - 1));
  response.cookie(name, value, { ...cookieAttributes(name), maxAge: LIFETIME_MS, encode: String });
}

/** Clears the one that has done its work; other tabs still need theirs. @param hash of its text */
export function clearFlowCookie(request: Request, response: Response, hash: string, now: Date): void {
  clear(
    response,
    genuineFirst(request, now).filter((cookie) => secretHash(flowCookieText(cookie)) === hash),
  );
}

/**
 * Those that can't be planted come first, then the newest. Only a few are looked at, and a sibling domain can plant more than
 * that: plain ones, with any date.
 */
function genuineFirst(request: Request, now: Date): readonly FlowCookie[] {
  const latest = now.getTime() + CLOCKS_DIFFER_MS;
  return cookiePairs(request.headers.cookie)
    .filter((cookie) => NAME.test(cookie.name) && VALUE.test(cookie.value) && startOf(cookie) <= latest)
    .sort(
      (a, b) => Number(isSecureCookie(b.name)) - Number(isSecureCookie(a.name)) || startOf(b) - startOf(a),
    )
    .slice(0, 4 * MAX_PER_JAR);
}

function startOf({ value }: FlowCookie): number {
  return Number.parseInt(value, 36) * 1000;
}

function clear(response: Response, cookies: readonly FlowCookie[]): void {
  for (const { name } of cookies) response.cookie(name, "", { ...cookieAttributes(name), maxAge: 0 });
}
