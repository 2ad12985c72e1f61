// Names, writes, reads and clears the flow cookies: each binds one sign-in to the browser that began it.
import { randomBytes } from "node:crypto";
import { secretHash } from "@portico/shared/secret-hash";
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

/** @param origin that will redeem the code: https there means Secure and the prefix no sibling domain can plant */
export function makeFlowCookie(origin: string, now: Date): FlowCookie {
  const prefix = origin.startsWith("https:") ? "__Host-" : "";
  const seconds = Math.floor(now.getTime() / 1000).toString(36);
  return {
    name: `${prefix}oauthFlow-${randomBytes(6).toString("base64url")}`,
    value: `${seconds}.${randomBytes(32).toString("base64url")}`,
  };
}

/** What the data service keeps a hash of: with the name, so that a planted other spelling is another cookie. */
export function flowCookieText({ name, value }: FlowCookie): string {
  return `${name}=${value}`;
}

/** Every flow cookie of the request, as text. */
export function flowCookiesOf(request: Request): readonly string[] {
  return newestFirst(request).map(flowCookieText);
}

/** Sets the cookie, and clears the oldest beyond five. */
export function writeFlowCookie(request: Request, response: Response, { name, value }: FlowCookie): void {
  clear(response, newestFirst(request).slice(MAX_PER_JAR - 1));
  response.cookie(name, value, { ...attributes(name), maxAge: LIFETIME_MS, encode: String });
}

/** Clears the one that has done its work; those of other tabs are still on their way. @param hash of its text */
export function clearFlowCookie(request: Request, response: Response, hash: string): void {
  clear(
    response,
    newestFirst(request).filter((cookie) => secretHash(flowCookieText(cookie)) === hash),
  );
}

function newestFirst(request: Request): readonly FlowCookie[] {
  return cookiePairs(request.headers.cookie)
    .filter(({ name, value }) => NAME.test(name) && VALUE.test(value))
    .sort((a, b) => startOf(b) - startOf(a))
    .slice(0, 4 * MAX_PER_JAR);
}

function startOf({ value }: FlowCookie): number {
  return Number.parseInt(value, 36);
}

function clear(response: Response, cookies: readonly FlowCookie[]): void {
  for (const { name } of cookies) response.cookie(name, "", { ...attributes(name), maxAge: 0 });
}

/** Lax: the provider sends the browser back from another site. */
function attributes(name: string) {
  const secure = name.startsWith("__Host-");
  return { httpOnly: true, sameSite: "lax", path: "/", secure } as const;
}
