// Finds the session of a request, renewing its access token when that is about to expire (contract, section 3.3).
import { AppError } from "@portico/shared/app-error";
import { badToken } from "@portico/shared/bearer-token";
import type { Clock } from "@portico/shared/clock";
import type { ErrorCode } from "@portico/shared/error-codes";
import type { Response } from "express";
import type { Limits } from "../config.js";
import {
  clearSessionCookiesInTime,
  isSpellingOf,
  type Spelling,
  writeSessionCookies,
} from "../cookies/session-cookies.js";
import { readAccessClaims } from "./access-claims.js";
import type { Received } from "./caller.js";
import { type Credentials, severalHeaders } from "./credentials.js";
import type { Renewal } from "./decide-renewal.js";
import { type Carried, decideSession, type ServedPages, type Use } from "./decide-session.js";
import type { Borrow, Refresh } from "./share-calls.js";
import type { SupersededTokens } from "./superseded-tokens.js";

/** Who a request acts for, as far as the gateway knows; it passes tokens on without checking them. */
export type Session =
  | { readonly kind: "anonymous" }
  | { readonly kind: "bearer"; readonly authorization: string }
  | {
      readonly kind: "cookie";
      readonly authorization: string;
      /** The web origin the session was made for; APP_URL's for one that names none. */
      readonly origin: string;
      /** What came with its token, should the data service refuse that; undefined where the token is new. */
      readonly carried: Carried | undefined;
      /** When the refresh token that came was replaced (see RefreshResult), if the answer brings the next one. */
      readonly replacedAt?: number;
    };

export type RefreshedAnswerLimits = Pick<Limits, "refreshedAnswerMs" | "leastRefreshedAnswerMs">;

/**
 * Refreshed cookies must be with the browser before what it has is good no longer.
 * @returns the moment (`performance.now`) by which the head of the answer must leave, if it brings any
 */
export function answerDeadline(
  { refreshedAnswerMs, leastRefreshedAnswerMs }: RefreshedAnswerLimits,
  session: Session,
): number | undefined {
  if (session.kind !== "cookie" || session.replacedAt === undefined) return undefined;
  return Math.max(session.replacedAt + refreshedAnswerMs, performance.now() + leastRefreshedAnswerMs);
}

export interface LoadSessionDeps extends ServedPages {
  readonly clock: Clock;
  readonly refresh: Refresh;
  readonly borrow: Borrow;
  readonly supersededTokens: SupersededTokens;
}

/**
 * Sets the new cookies on this response when it refreshes, and clears them when the refresh is refused. Leaves them
 * alone when it borrows: by the time of the answer the browser may have newer ones.
 * @param renewal asked only where the access token has to be replaced
 * @throws AppError INVALID_TOKEN for two Authorization headers or a Bearer that does not count here; where the access token is no
 * longer valid, BAD_GATEWAY when the data service can not be reached, QUERY_TIMEOUT when it does not answer in time; the cookies
 * stay then
 */
export async function loadSession(
  deps: LoadSessionDeps,
  credentials: Credentials,
  renewal: () => Promise<Renewal>,
  received: Received,
  response: Response,
): Promise<Session> {
  const decision = decideSession(credentials, deps, deps.clock.now());
  switch (decision.kind) {
    case "bearer":
    case "anonymous":
      return decision;
    case "use":
      return usedSession(deps, decision);
    case "renew": {
      const renewed =
        (await renewal()) === "borrow"
          ? borrowSession(deps, decision, received)
          : refreshSession(deps, decision, received, response);
      return renewed.catch((error: unknown) => unlessPutOff(deps, decision.until, error));
    }
    case "reject":
      throw severalHeaders();
    case "unserved":
      throw badToken();
  }
}

function usedSession({ appUrl }: LoadSessionDeps, { accessToken, origin, ...carried }: Use): Session {
  return cookieSession(accessToken, origin ?? appUrl, carried);
}

/** Failures of a renewal that can be made later as well. */
const PUT_OFF: readonly ErrorCode[] = [
  "TOO_MANY_REQUESTS",
  "SERVICE_UNAVAILABLE",
  "BAD_GATEWAY",
  "QUERY_TIMEOUT",
];

/**
 * A renewal that is only put off (429, 502, 503, 504) fails no request whose access token is still valid: the client did not
 * ask for it.
 * @returns the session with the token that it has
 * @throws the error where that is no longer valid, or the renewal is not just put off
 */
function unlessPutOff(deps: LoadSessionDeps, until: Use | undefined, error: unknown): Session {
  const isPutOff = error instanceof AppError && PUT_OFF.includes(error.code);
  const expiresAtMs = (until && readAccessClaims(until.accessToken)?.expiresAtMs) ?? 0;
  if (until === undefined || !isPutOff || expiresAtMs <= deps.clock.now().getTime()) throw error;
  return usedSession(deps, until);
}

/**
 * Refreshes the session when its access token is missing or no longer valid. Sets the new cookies on this response, or clears
 * cookies that have no session behind them, if it leaves soon. Does neither for a client that has left, or where a sign-in
 * or a log-out replaces the cookies before the answer leaves.
 * @throws AppError when the data service can not be asked; the cookies stay then
 */
export async function refreshSession(
  deps: LoadSessionDeps,
  { refreshToken, spelling }: Carried,
  { headers, caller }: Received,
  response: Response,
): Promise<Session> {
  // The token would be rotated, and the new cookies would reach nobody.
  if (response.destroyed) return { kind: "anonymous" };
  const result = refreshToken === undefined ? undefined : await deps.refresh(refreshToken, caller);
  if (result?.kind !== "session") {
    const takeBack = clearSessionCookiesInTime(headers.cookie, response, deps.appUrl);
    yieldToNewer(deps, response, [refreshToken], takeBack);
    return { kind: "anonymous" };
  }
  const session = sessionOf(deps, result.tokens.accessToken, spelling);
  if (session.kind === "cookie") {
    // The browser behind an app that forwards to us is on that app's origin: its scheme decides the spelling.
    const takeBack = writeSessionCookies(response, session.origin, result.tokens, deps.clock.now());
    // Another answer may have brought the new token to the browser by then.
    yieldToNewer(deps, response, [refreshToken, result.tokens.refreshToken], takeBack);
    return { ...session, replacedAt: result.replacedAt };
  }
  return session;
}

/** What a sign-in or a log-out does to the cookies is newer than an answer to what was asked before it, however late that leaves. */
function yieldToNewer(
  { supersededTokens: { bySignIn, byLogOut } }: LoadSessionDeps,
  response: Response,
  refreshTokens: readonly (string | undefined)[],
  takeBack: () => void,
): void {
  // Its end has passed already, and nothing would stop the waiting.
  if (response.destroyed) return;
  const waits = refreshTokens
    .filter((token) => token !== undefined)
    .flatMap((token) => [bySignIn, byLogOut].map((each) => each.whenNoted(token, takeBack)));
  response.once("close", () => {
    for (const stop of waits) stop();
  });
}

/** An access token for this request alone: the session stays, and so do the browser's cookies. */
export async function borrowSession(
  deps: LoadSessionDeps,
  { refreshToken, spelling }: Carried,
  { caller }: Received,
): Promise<Session> {
  const accessToken = refreshToken === undefined ? undefined : await deps.borrow(refreshToken, caller);
  return accessToken === undefined ? { kind: "anonymous" } : sessionOf(deps, accessToken, spelling);
}

/** Anonymous when these cookies can't be those of the session: somebody planted them. */
function sessionOf({ appUrl }: LoadSessionDeps, accessToken: string, spelling: Spelling): Session {
  const origin = readAccessClaims(accessToken)?.origin ?? appUrl;
  return isSpellingOf(spelling, origin) ? cookieSession(accessToken, origin) : { kind: "anonymous" };
}

function cookieSession(accessToken: string, origin: string, carried?: Carried): Session {
  return { kind: "cookie", authorization: `Bearer ${accessToken}`, origin, carried };
}
