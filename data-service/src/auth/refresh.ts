// Refresh token -> the next pair, the same for everybody who asks with the same token.
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import type { TokenPair } from "@portico/shared/token-pair";
import type { Audit } from "./audit.js";
import { BodyReader } from "./body-reader.js";
import { decideRotation } from "./decide-rotation.js";
import type { ClientFacts } from "./issue-session.js";
import type { RefreshClaims } from "./refresh-token.js";
import { isAlive, type Session, sessionExpiry } from "./session.js";
import type { SessionCache } from "./session-cache.js";
import type { Throttle } from "./throttle.js";
import { type Tokens, tokenPair } from "./token-pair.js";

export interface RefreshDeps {
  readonly sessions: {
    find(sessionId: string): Promise<Session | undefined>;
    /** One conditional write: undefined, and nothing changed, unless `generation` is still the stored one. */
    rotate(
      sessionId: string,
      generation: number,
      next: { readonly rotatedAt: Date; readonly expiresAt: Date },
    ): Promise<Session | undefined>;
    /** @returns what was removed */
    remove(sessionId: string): Promise<Session | undefined>;
  };
  readonly users: { findActive(userId: string): Promise<{ readonly epoch: string } | undefined> };
  readonly sessionCache: Pick<SessionCache, "forgetSession">;
  readonly throttle: Pick<Throttle, "admitRefresh">;
  readonly audit: Audit;
  readonly tokens: Tokens;
  readonly clock: Clock;
}

/** Long enough for every token of ours; a longer text is just not one. */
const TOKEN_MAX_CHARACTERS = 4096;

/**
 * @param log carries the request's correlation id
 * @throws AppError VALIDATION_ERROR, INVALID_TOKEN for unknown, expired, revoked and reused tokens alike, or
 * TOO_MANY_REQUESTS
 */
export async function refresh(
  deps: RefreshDeps,
  body: unknown,
  client: ClientFacts,
  log: Logger,
): Promise<TokenPair> {
  const presented = deps.tokens.refresh.read(readRefreshBody(body));
  if (presented === undefined) throw refused();
  await deps.throttle.admitRefresh(presented.sessionId);
  // A lost race means that somebody else rotated: the second look sees their successor and repeats it.
  const session =
    (await attempt(deps, presented, client, log)) ?? (await attempt(deps, presented, client, log));
  if (session === undefined) throw refused();
  return tokenPair(deps.tokens, session);
}

function readRefreshBody(body: unknown): string {
  const reader = new BodyReader(body, ["refreshToken"]);
  const token = reader.text("refreshToken", TOKEN_MAX_CHARACTERS);
  reader.done();
  return token;
}

/** The session whose tokens are to be answered; undefined when the race for the rotation was lost. */
async function attempt(
  deps: RefreshDeps,
  { sessionId, generation }: RefreshClaims,
  client: ClientFacts,
  log: Logger,
): Promise<Session | undefined> {
  const now = deps.clock.now();
  const session = await deps.sessions.find(sessionId);
  const rotation = decideRotation(session, generation, now);
  if (session === undefined || rotation === "refuse") throw refused();
  if (rotation === "revoke") {
    await end(deps, sessionId);
    log.warn(
      { event: "refresh_token_reuse", sessionId, userId: session.userId, generation },
      "security event",
    );
    const details = { sessionId, generation: String(generation) };
    await deps.audit.record({ event: "refresh.reuse", userId: session.userId, details }, client);
    throw refused();
  }
  const user = await deps.users.findActive(session.userId);
  if (user === undefined || !(await isOfEpoch(deps, session, user, now))) {
    await end(deps, sessionId);
    throw refused();
  }
  if (rotation === "repeat") return session;
  return deps.sessions.rotate(sessionId, generation, {
    rotatedAt: now,
    expiresAt: sessionExpiry(session, now),
  });
}

/** Looks again before it says no: the session may have taken part in a new epoch since it was read. */
async function isOfEpoch(
  { sessions }: RefreshDeps,
  session: Session,
  user: { readonly epoch: string },
  now: Date,
): Promise<boolean> {
  if (isAlive(session, user, now)) return true;
  const again = await sessions.find(session.id);
  return again !== undefined && isAlive(again, user, now);
}

async function end({ sessions, sessionCache }: RefreshDeps, sessionId: string): Promise<void> {
  await sessions.remove(sessionId);
  sessionCache.forgetSession(sessionId);
}

function refused(): AppError {
  return new AppError("INVALID_TOKEN", "The refresh token is not valid; sign in again.");
}
