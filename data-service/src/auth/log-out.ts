// Ends the sessions a caller can name: by refresh token, by access token, or both.
import type { Audit } from "./audit.js";
import { BodyReader } from "./body-reader.js";
import type { ClientFacts } from "./issue-session.js";
import type { RefreshTokens } from "./refresh-token.js";
import type { Session } from "./session.js";
import type { SessionCache } from "./session-cache.js";

export interface LogOutDeps {
  readonly sessions: { remove(sessionId: string): Promise<Session | undefined> };
  readonly sessionCache: Pick<SessionCache, "forgetSession">;
  readonly audit: Audit;
  readonly tokens: { readonly refresh: RefreshTokens };
}

const TOKEN_MAX_CHARACTERS = 4096;

/**
 * Idempotent: a token that names no session (any more) is no error, as in RFC 7009. Any generation will do;
 * whoever holds one may end the session.
 * @param bearerSession the session of the Bearer token, if one came along; then the body may be missing
 */
export async function logOut(
  deps: LogOutDeps,
  body: unknown,
  bearerSession: string | undefined,
  client: ClientFacts,
): Promise<void> {
  const reader = new BodyReader(body, ["refreshToken"]);
  const token =
    bearerSession === undefined
      ? reader.text("refreshToken", TOKEN_MAX_CHARACTERS)
      : reader.optionalText("refreshToken", TOKEN_MAX_CHARACTERS);
  reader.done();
  const named = token === undefined ? undefined : deps.tokens.refresh.read(token)?.sessionId;
  for (const sessionId of new Set([named, bearerSession])) {
    if (sessionId === undefined) continue;
    const ended = await deps.sessions.remove(sessionId);
    deps.sessionCache.forgetSession(sessionId);
    if (ended === undefined) continue;
    await deps.audit.record(
      { event: "sign-out", userId: ended.userId, details: { sessionId } },
      { ...client, origin: ended.origin },
    );
  }
}
