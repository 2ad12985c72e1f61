// POST /api/logout: ends the session of the cookies, or of a Bearer header, and clears the cookies.
import { badToken } from "@portico/shared/bearer-token";
import { success } from "@portico/shared/envelope";
import { isServed } from "@portico/shared/session-page";
import type { Request, RequestHandler } from "express";
import { clearSessionCookies } from "../cookies/session-cookies.js";
import { requireBodyType, requirePage, requireSessionPage } from "../http/page-rule.js";
import { readAccessClaims } from "../session/access-claims.js";
import { callerOf } from "../session/caller.js";
import { type Credentials, credentialsOf, severalHeaders, tokensOf } from "../session/credentials.js";
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
    const session = sessionToEnd(deps, credentials);
    const page = isBearer ? undefined : request.headers.origin;
    const isReplaced =
      session !== undefined &&
      (await isReplacedMeanwhile(deps, session, deps.authClient.logOut(session, page, callerOf(request))));
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

/** @returns whether a sign-in in the same browser has replaced the cookies by the time that the session has ended */
async function isReplacedMeanwhile(
  { supersededTokens }: LogoutDeps,
  session: SessionName,
  end: Promise<void>,
): Promise<boolean> {
  const refreshToken = "authorization" in session ? undefined : session.refreshToken;
  if (refreshToken === undefined) return end.then(() => false);
  let isReplaced = false;
  const stop = supersededTokens.bySignIn.whenNoted(refreshToken, () => {
    isReplaced = true;
  });
  await end.finally(stop);
  // Answers to what was asked before must neither set nor clear the cookies of whoever signs in next.
  supersededTokens.byLogOut.note(refreshToken);
  return isReplaced;
}

function sessionToEnd(
  { pageOrigins }: Pick<LogoutDeps, "pageOrigins">,
  { authorization, cookies }: Credentials,
): SessionName | undefined {
  const [header, ...others] = authorization;
  if (others.length > 0) throw severalHeaders();
  if (header !== undefined && !isServedBearer(header, pageOrigins)) throw badToken();
  if (header !== undefined) return { authorization: header };
  return tokensOf(cookies);
}
