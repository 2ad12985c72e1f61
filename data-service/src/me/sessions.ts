// The signed-in user's sessions: which there are, and ending one (contract, section 3.2).
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { JsonObject } from "@portico/shared/json";
import type { AuditEvent, AuditLog } from "../auth/audit.js";
import type { ClientFacts } from "../auth/client-facts.js";
import { isAlive, type RootOrigin, type Session } from "../auth/session.js";
import type { SessionCache } from "../auth/session-cache.js";
import { tellingUncertain } from "../auth/telling-uncertain.js";
import type { SessionUser } from "../principal.js";

export interface MySessionsDeps {
  readonly sessions: {
    /** Those that have not expired, the most recently used first. */
    listOf(userId: string, now: Date): Promise<Session[]>;
    /** @returns whether the user had such a session */
    removeOf(userId: string, sessionId: string): Promise<boolean>;
  };
  readonly users: { epochOf(userId: string): Promise<string> };
  readonly rootOrigin: RootOrigin;
  readonly sessionCache: Pick<SessionCache, "forgetSession">;
  readonly audit: AuditLog;
  readonly clock: Clock;
}

/** The user's live sessions as the API shows them, the most recently used first. */
export async function listSessions(
  deps: MySessionsDeps,
  { userId, isRootAdmin, by }: SessionUser,
): Promise<JsonObject[]> {
  const now = deps.clock.now();
  const epoch = await deps.users.epochOf(userId);
  const sessions = await deps.sessions.listOf(userId, now);
  return sessions
    .filter((session) => isAlive(session, { epoch, isRootAdmin }, now, deps.rootOrigin))
    .map((session) => ({
      id: session.id,
      createdAt: session.createdAt.toISOString(),
      // Changes with each refresh, so it is accurate to the life of an access token.
      lastUsedAt: session.lastUsedAt.toISOString(),
      expiresAt: session.expiresAt.toISOString(),
      userAgent: session.userAgent,
      address: session.address,
      origin: session.origin,
      loginProvider: session.provider,
      current: session.id === by.id,
    }));
}

/** Ends one of the user's own sessions. @throws AppError 404, also for other people's sessions */
export async function endSession(
  { sessions, sessionCache, audit }: MySessionsDeps,
  { userId }: SessionUser,
  sessionId: string,
  client: ClientFacts,
): Promise<void> {
  const event: AuditEvent = { event: "session.ended", userId, details: { sessionId } };
  const remove = () =>
    sessions.removeOf(userId, sessionId).finally(() => sessionCache.forgetSession(sessionId));
  const isEnded = await tellingUncertain({ audit, client }, () => [event], remove);
  if (!isEnded) throw new AppError("NOT_FOUND", "You have no such session.");
  await audit.record(event, client);
}
