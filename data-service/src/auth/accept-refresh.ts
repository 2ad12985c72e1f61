// A genuine refresh token -> its session and whether to rotate or repeat; reuse of a replaced token ends the session.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { isServed } from "@portico/shared/session-page";
import type { Audit } from "./audit.js";
import type { ClientFacts } from "./client-facts.js";
import { decideRotation } from "./decide-rotation.js";
import type { RefreshClaims } from "./refresh-token.js";
import { isAlive, type RootOrigin, type Session } from "./session.js";
import type { SessionCache } from "./session-cache.js";

/** The user of a session, as the record says now. */
interface Holder {
  readonly epoch: string;
  readonly isRootAdmin: boolean;
}

export interface AcceptRefreshDeps {
  readonly sessions: {
    find(sessionId: string): Promise<Session | undefined>;
    /** @returns what was removed */
    remove(sessionId: string): Promise<Session | undefined>;
  };
  readonly users: { findActive(userId: string): Promise<Holder | undefined> };
  readonly rootOrigin: RootOrigin;
  readonly sessionCache: Pick<SessionCache, "forgetSession">;
  readonly audit: Audit;
  readonly clock: Clock;
}

/** The session, and whether the token is its current one or, for a while, the one before (see decide-rotation). */
export interface AcceptedRefresh {
  readonly session: Session;
  readonly rotation: "rotate" | "repeat";
}

/**
 * Every use of a refresh token begins here, so that a copied token is detected wherever it is used.
 *
 * Whoever has hung up gets nothing, and neither moves the session on nor ends it. Such a request may have waited in a process that
 * stood still: by the time of now its token would look reused though it was presented in time, and tokens that nobody gets would
 * make one of the browser's own. Who hangs up on purpose learns nothing, and is in the log.
 * @param log carries the request's correlation id
 * @returns undefined for unknown, expired, revoked and reused tokens alike, and where the session does not count
 */
export async function acceptRefresh(
  deps: AcceptRefreshDeps,
  { sessionId, generation }: RefreshClaims,
  client: ClientFacts,
  log: Pick<Logger, "warn">,
): Promise<AcceptedRefresh | undefined> {
  const now = deps.clock.now();
  const session = await deps.sessions.find(sessionId);
  const rotation = decideRotation(session, generation, now);
  if (session === undefined || rotation === "refuse") return undefined;
  const { userId, origin } = session;
  if ((await client.isWaiting?.()) === false) {
    log.warn({ event: "refresh_abandoned", sessionId, userId, generation, rotation }, "nobody waits for it");
    return undefined;
  }
  if (rotation === "revoke") {
    log.warn({ event: "refresh_token_reuse", sessionId, userId, generation }, "security event");
    const event = {
      event: "refresh.reuse",
      userId,
      details: { sessionId, generation: String(generation) },
    } as const;
    // Also where its end is not confirmed: the session may be gone all the same, and then nothing else tells of the theft.
    await end(deps, sessionId).finally(() => deps.audit.record(event, { ...client, origin }));
    return undefined;
  }
  if (!isServed(origin, client.pageOrigins)) return undefined;
  const user = await deps.users.findActive(userId);
  // It stays: the change of the user that keeps it from counting may be refused yet, and is taken back then. Once the change
  // is whole, such sessions are cleared away (records/user-hooks).
  if (user === undefined || !(await isStillTheirs(deps, session, user, now))) return undefined;
  return { session, rotation };
}

/** Looks again before saying no: the session may have joined a new epoch since it was read. */
async function isStillTheirs(
  { sessions, rootOrigin }: AcceptRefreshDeps,
  session: Session,
  user: Holder,
  now: Date,
): Promise<boolean> {
  if (isAlive(session, user, now, rootOrigin)) return true;
  const again = await sessions.find(session.id);
  return again !== undefined && isAlive(again, user, now, rootOrigin);
}

async function end({ sessions, sessionCache }: AcceptRefreshDeps, sessionId: string): Promise<void> {
  await sessions.remove(sessionId).finally(() => sessionCache.forgetSession(sessionId));
}
