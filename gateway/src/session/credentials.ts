// What a request presents about its caller: the Authorization header and the session cookies.
import { AppError } from "@portico/shared/app-error";
import type { Request } from "express";
import { sessionCookiesOf } from "../cookies/request-cookies.js";
import type { SessionCookies } from "../cookies/session-cookies.js";
import { headerLines } from "../http/header-lines.js";

export interface CookieTokens {
  readonly refreshToken?: string | undefined;
  readonly accessToken?: string | undefined;
}

export interface Credentials {
  /** One entry per header line. */
  readonly authorization: readonly string[];
  readonly cookies: SessionCookies;
}

/** Needs `findSessionCookies` before it. */
export function credentialsOf(request: Request): Credentials {
  return { ...headerOf(request), cookies: sessionCookiesOf(request) };
}

/** What a request presents whose cookies don't count. */
export function headerOf(request: Request): Credentials {
  return { authorization: headerLines(request, "authorization"), cookies: { kind: "none" } };
}

/** Whether the request would act by its cookies; then it matters which page it comes from. */
export function reliesOnCookies(credentials: Credentials): boolean {
  return credentials.authorization.length === 0 && credentials.cookies.kind !== "none";
}

/**
 * What the cookies name sessions by, for ending these.
 * @returns both tokens of cookies that count: one of them may have been planted, or have expired
 */
export function tokensOf(cookies: SessionCookies): readonly CookieTokens[] {
  if (cookies.kind === "none") return [];
  if (cookies.kind === "unusable") return cookies.named;
  const { accessToken, refreshToken } = cookies;
  return accessToken === undefined && refreshToken === undefined ? [] : [{ accessToken, refreshToken }];
}

/** The refresh tokens among them. */
export function refreshTokensOf(cookies: SessionCookies): readonly string[] {
  return tokensOf(cookies).flatMap(({ refreshToken }) => refreshToken ?? []);
}

/** The refusal of several Authorization headers: they contradict each other. */
export function severalHeaders(): AppError {
  return new AppError("INVALID_TOKEN", {
    message: "Send one Authorization header, not several.",
    headers: { "WWW-Authenticate": 'Bearer error="invalid_request"' },
  });
}
