// Ends the sessions that a caller can name: by refresh token, by access token, or both.
import { AppError } from "@portico/shared/app-error";
import { begunOn, isServed, pageRefused } from "@portico/shared/session-page";
import { type Requester, sessionOf } from "../principal.js";
import type { AuditEvent, AuditLog } from "./audit.js";
import { BodyReader } from "./body-reader.js";
import type { ClientFacts } from "./client-facts.js";
import { type RefreshTokens, TOKEN_MAX_CHARACTERS } from "./refresh-token.js";
import type { Session } from "./session.js";
import type { SessionCache } from "./session-cache.js";
import { tellingUncertain } from "./telling-uncertain.js";

export interface LogOutDeps {
  readonly sessions: {
    find(sessionId: string): Promise<Session | undefined>;
    remove(sessionId: string): Promise<Session | undefined>;
  };
  readonly sessionCache: Pick<SessionCache, "forgetSession">;
  readonly audit: AuditLog;
  readonly tokens: { readonly refresh: RefreshTokens };
  /** The page to which a session belongs that no browser began. */
  readonly appUrl: string;
}

/**
 * Idempotent: a token that names no session (any more) is no error, as in RFC 7009. Any generation will do; whoever holds
 * one may end the session.
 * @param requester who proved themselves by a Bearer need not name a session: it is ended, and an API token has none
 * @param client `origin` is that of the page whose cookies named the session, if a page asks
 * @throws AppError FORBIDDEN when the session was made for another page; then it lives on
 */
export async function logOut(
  deps: LogOutDeps,
  body: unknown,
  requester: Requester,
  client: ClientFacts,
): Promise<void> {
  const reader = new BodyReader(body, ["refreshToken"]);
  const token =
    requester.kind === "anonymous"
      ? reader.text("refreshToken", TOKEN_MAX_CHARACTERS)
      : reader.optionalText("refreshToken", TOKEN_MAX_CHARACTERS);
  reader.done();
  const named = token === undefined ? undefined : deps.tokens.refresh.read(token)?.sessionId;
  const sessionIds = [...new Set([named, sessionOf(requester)?.id])].filter((id) => id !== undefined);
  const found = await Promise.all(sessionIds.map((sessionId) => deps.sessions.find(sessionId)));
  const sessions = found.filter((session) => session !== undefined);
  for (const session of sessions) requireOwnPage(deps.appUrl, session, client);
  // Another instance may have ended those that are not there.
  const gone = sessionIds.filter((id) => !sessions.some((session) => session.id === id));
  for (const sessionId of gone) deps.sessionCache.forgetSession(sessionId);
  for (const session of sessions) await end(deps, session, { ...client, origin: session.origin });
}

async function end(
  { sessions, sessionCache, audit }: LogOutDeps,
  { id, userId }: Session,
  client: ClientFacts,
): Promise<void> {
  const event: AuditEvent = { event: "sign-out", userId, details: { sessionId: id } };
  const remove = () => sessions.remove(id).finally(() => sessionCache.forgetSession(id));
  const ended = await tellingUncertain({ audit, client }, () => [event], remove);
  if (ended !== undefined) await audit.record(event, client);
}

/**
 * From a refresh token alone the gateway can't tell which page its session was made for (contract, section 3.3). One whose
 * page is served no more has none that could ask.
 */
function requireOwnPage(appUrl: string, session: Session, { origin: page, pageOrigins }: ClientFacts): void {
  if (page === null || !isServed(session.origin, pageOrigins)) return;
  const own = session.origin ?? appUrl;
  if (own !== page) throw new AppError("FORBIDDEN", pageRefused(page, begunOn(own)));
}
