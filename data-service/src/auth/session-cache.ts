// Which sessions are alive and what their users may do, at most five seconds old.
import type { Clock } from "@portico/shared/clock";
import { agingCache } from "./aging-cache.js";
import { isAlive, KNOWN_FOR_MS, type Opened, openedOf, type RootOrigin, type Session } from "./session.js";

const MAX_SESSIONS = 10_000;

/** What the user's record says about their rights, read now and not from the token. */
export interface ActiveUser {
  readonly roleId: string | null;
  readonly isRootAdmin: boolean;
  /** See auth/session. */
  readonly epoch: string;
}

export interface LiveSession extends ActiveUser, Opened, Pick<Session, "expiresAt"> {
  /** By `performance.now()`. */
  readonly readAt: number;
}

export interface SessionCacheDeps {
  readonly sessions: { find(sessionId: string): Promise<Session | undefined> };
  readonly users: { findActive(userId: string): Promise<ActiveUser | undefined> };
  readonly rootOrigin: RootOrigin;
  readonly clock: Clock;
}

export interface SessionCache {
  /** The session, if it is alive, belongs to this user, and the user is active. */
  find(sessionId: string, userId: string): Promise<LiveSession | undefined>;
  /** Takes effect at once in this process: the session has ended. */
  forgetSession(sessionId: string): void;
  /** Takes effect at once in this process: the user was changed, deactivated or removed. */
  forgetUser(userId: string): void;
}

interface Entry {
  readonly userId: string;
  /**
   * A promise, so that parallel requests share one read, and a read that is forgotten while it runs leaves nothing behind.
   */
  readonly live: Promise<LiveSession | undefined>;
}

export function makeSessionCache(deps: SessionCacheDeps): SessionCache {
  const entries = agingCache<Entry>({ max: MAX_SESSIONS, ttlMs: KNOWN_FOR_MS, clock: deps.clock });

  const load = (sessionId: string, userId: string): Entry => {
    const entry = { userId, live: read(deps, sessionId, userId) };
    entries.set(sessionId, entry);
    entry.live.catch(() => {
      if (entries.peek(sessionId) === entry) entries.delete(sessionId);
    });
    return entry;
  };

  return {
    async find(sessionId, userId) {
      const kept = entries.get(sessionId);
      const entry = kept?.userId === userId ? kept : load(sessionId, userId);
      const live = await entry.live;
      if (live === undefined || live.expiresAt > deps.clock.now()) return live;
      // It has expired, unless it was refreshed since it was read.
      return load(sessionId, userId).live;
    },
    forgetSession(sessionId) {
      entries.delete(sessionId);
    },
    forgetUser(userId) {
      for (const [sessionId, entry] of [...entries.entries()]) {
        if (entry.userId === userId) entries.delete(sessionId);
      }
    },
  };
}

/** A session as it is now, read and not from the cache: for decisions that must not rest on what was true five seconds ago. */
export function findAnew(
  cache: Pick<SessionCache, "find" | "forgetSession">,
  sessionId: string,
  userId: string,
): Promise<LiveSession | undefined> {
  cache.forgetSession(sessionId);
  return cache.find(sessionId, userId);
}

async function read(
  { sessions, users, rootOrigin, clock }: SessionCacheDeps,
  sessionId: string,
  userId: string,
): Promise<LiveSession | undefined> {
  const readAt = performance.now();
  // In this order: a session joins a new epoch before its user does (see me/update-me).
  const user = await users.findActive(userId);
  const session = await sessions.find(sessionId);
  if (session === undefined || user === undefined) return undefined;
  // The token's user and the session's user must be the same.
  if (session.userId !== userId || !isAlive(session, user, clock.now(), rootOrigin)) return undefined;
  return { ...user, ...openedOf(session), expiresAt: session.expiresAt, readAt };
}
