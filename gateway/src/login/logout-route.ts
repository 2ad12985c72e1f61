// POST /api/logout: ends the session of the cookies, or of a Bearer header, and clears the cookies.
import { AppError } from "@portico/shared/app-error";
import { badToken } from "@portico/shared/bearer-token";
import { success } from "@portico/shared/envelope";
import { isServed } from "@portico/shared/session-page";
import type { Request, RequestHandler } from "express";
import { clearSessionCookies } from "../cookies/session-cookies.js";
import { requireBodyType, requirePage, requireSessionPage } from "../http/page-rule.js";
import { readAccessClaims } from "../session/access-claims.js";
import { callerOf } from "../session/caller.js";
import {
  type Credentials,
  credentialsOf,
  refreshTokensOf,
  severalHeaders,
  tokensOf,
} from "../session/credentials.js";
import { isServedBearer } from "../session/served-session.js";
import type { SupersededTokens } from "../session/superseded-tokens.js";
import type { AuthClient, SessionName } from "../upstream/auth-client.js";

export interface LogoutDeps {
  readonly appUrl: string;
  /** The app's own origin and ALLOWED_ORIGINS. */
  readonly pageOrigins: readonly string[];
  readonly authClient: Pick<AuthClient, "logOut">;
  readonly supersededTokens: SupersededTokens;
}

/** Idempotent for cookies; a Bearer header must be valid. A refusal leaves session and cookies as they are. */
export function logoutRoute(deps: LogoutDeps): RequestHandler {
  return async (request, response) => {
    const credentials = credentialsOf(request);
    const isBearer = credentials.authorization.length > 0;
    if (!isBearer) checkPage(deps, credentials, request);
    requireBodyType(request, "json");
    const sessions = sessionsToEnd(deps, credentials);
    const page = isBearer ? undefined : request.headers.origin;
    const ends = sessions.map((each) => deps.authClient.logOut(each, page, callerOf(request)));
    const refreshTokens = isBearer ? [] : refreshTokensOf(credentials.cookies);
    const isReplaced = await isReplacedMeanwhile(deps, refreshTokens, allEnded(sessions, ends));
    // With a Bearer header cookies are ignored, and so they stay; those of a new sign-in are for another session.
    if (!isBearer && !isReplaced) clearSessionCookies(request.headers.cookie, response, deps.appUrl);
    response.json(success(200));
  };
}

/**
 * The access cookie may have expired; its origin still says which page the session belongs to. Where it is gone, the data
 * service knows. A session whose page is no longer served may be ended from every other.
 */
function checkPage(deps: LogoutDeps, { cookies }: Credentials, request: Request): void {
  const accessToken = cookies.kind === "present" ? cookies.accessToken : undefined;
  const claims = accessToken === undefined ? undefined : readAccessClaims(accessToken);
  if (claims === undefined || !isServed(claims.origin, deps.pageOrigins))
    requirePage(request, deps.pageOrigins);
  else requireSessionPage(request, claims.origin ?? deps.appUrl);
}

/**
 * Of several sessions that doubled cookies name, those that were made for other pages live on.
 * @returns the others
 * @throws AppError FORBIDDEN where that is so of all of them
 */
async function allEnded(
  sessions: readonly SessionName[],
  ends: readonly Promise<void>[],
): Promise<readonly SessionName[]> {
  const results = await Promise.allSettled(ends);
  const refusals = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  const failure = refusals.find((reason) => !isForbidden(reason));
  if (failure !== undefined) throw failure;
  if (refusals.length > 0 && refusals.length === ends.length) throw refusals[0];
  return sessions.filter((_, at) => results[at]?.status === "fulfilled");
}

function isForbidden(reason: unknown): boolean {
  return reason instanceof AppError && reason.code === "FORBIDDEN";
}

/** @returns whether a sign-in in the same browser has replaced the cookies by the time that their sessions have ended */
async function isReplacedMeanwhile(
  { supersededTokens: { bySignIn, byLogOut } }: LogoutDeps,
  refreshTokens: readonly string[],
  end: Promise<readonly SessionName[]>,
): Promise<boolean> {
  const replaced = new Set<string>();
  const stops = refreshTokens.map((token) => bySignIn.whenNoted(token, () => void replaced.add(token)));
  const ended = await end.finally(() => {
    for (const stop of stops) stop();
  });
  // Answers to what was asked before must neither set nor clear the cookies of whoever signs in next.
  for (const each of ended)
    if ("refreshToken" in each && each.refreshToken !== undefined) byLogOut.note(each.refreshToken);
  // All of them: a cookie for another path stays where it is at a sign-in, which notes it as well.
  return refreshTokens.length > 0 && refreshTokens.every((token) => replaced.has(token));
}

function sessionsToEnd(
  { pageOrigins }: Pick<LogoutDeps, "pageOrigins">,
  { authorization, cookies }: Credentials,
): readonly SessionName[] {
  const [header, ...others] = authorization;
  if (others.length > 0) throw severalHeaders();
  if (header !== undefined && !isServedBearer(header, pageOrigins)) throw badToken();
  if (header !== undefined) return [{ authorization: header }];
  return tokensOf(cookies);
}
