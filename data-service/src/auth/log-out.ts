// Ends the sessions that a caller can name: by refresh token, by access token, or both.
import { AppError } from "@portico/shared/app-error";
import { begunOn, isServed, pageRefused } from "@portico/shared/session-page";
import { type Requester, sessionOf } from "../principal.js";
import type { Audit } from "./audit.js";
import { BodyReader } from "./body-reader.js";
import type { ClientFacts } from "./issue-session.js";
import type { RefreshTokens } from "./refresh-token.js";
import type { Session } from "./session.js";
import type { SessionCache } from "./session-cache.js";

export interface LogOutDeps {
  readonly sessions: {
    find(sessionId: string): Promise<Session | undefined>;
    remove(sessionId: string): Promise<Session | undefined>;
  };
  readonly sessionCache: Pick<SessionCache, "forgetSession">;
  readonly audit: Audit;
  readonly tokens: { readonly refresh: RefreshTokens };
  /** The page to which a session belongs that no browser began. */
  readonly appUrl: string;
}

const TOKEN_MAX_CHARACTERS = 4096;

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
  for (const sessionId of sessionIds) await requireOwnPage(deps, sessionId, client);
  for (const sessionId of sessionIds) {
    const ended = await deps.sessions.remove(sessionId);
    deps.sessionCache.forgetSession(sessionId);
    if (ended === undefined) continue;
    await deps.audit.record(
      { event: "sign-out", userId: ended.userId, details: { sessionId } },
      { ...client, origin: ended.origin },
    );
  }
}

/**
 * From a refresh token alone the gateway can't tell which page its session was made for (contract, section 3.3). One whose
 * page is served no more has none that could ask.
 */
async function requireOwnPage(
  { sessions, appUrl }: LogOutDeps,
  sessionId: string,
  { origin: page, pageOrigins }: ClientFacts,
): Promise<void> {
  if (page === null) return;
  const session = await sessions.find(sessionId);
  if (session === undefined || !isServed(session.origin, pageOrigins)) return;
  const own = session.origin ?? appUrl;
  if (own !== page) throw new AppError("FORBIDDEN", pageRefused(page, begunOn(own)));
}
