// Which API tokens are good and what their users may be, at most five seconds old.
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { agingCache } from "./aging-cache.js";
import { type ApiToken, hashOfApiToken } from "./api-token.js";
import { isForRoot, KNOWN_FOR_MS, type RootOrigin } from "./session.js";
import type { ActiveUser } from "./session-cache.js";

const MAX_TOKENS = 10_000;
/** "Last used" is written at most this often for each token. */
const LAST_USED_EVERY_MS = 60_000;

const ROOT_ELSEWHERE =
  "an API token of a root admin is refused: it was made in a session by a provider on another origin than APP_URL, or by one that was connected in such a session";

/** A valid token, and what its user may do at present. */
export interface LiveApiToken {
  readonly token: ApiToken;
  readonly user: ActiveUser;
  /** When both were read, by `performance.now()`. */
  readonly readAt: number;
}

export interface ApiTokenCacheDeps {
  readonly apiTokens: {
    findByHash(hash: string): Promise<ApiToken | undefined>;
    /** Does nothing if somebody has noted a use since `before`. */
    noteUse(id: string, now: Date, before: Date): Promise<void>;
  };
  readonly users: { findActive(userId: string): Promise<ActiveUser | undefined> };
  readonly rootOrigin: RootOrigin;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
}

export interface ApiTokenCache {
  /**
   * The token, if it is known, its user is active, and the session it was made in may be theirs; whether it has expired is
   * for the caller to decide.
   */
  find(text: string): Promise<LiveApiToken | undefined>;
  /** Makes the next look at this token a fresh one. */
  forget(text: string): void;
  /** Takes effect at once in this process: a token was revoked or its user changed. */
  forgetAll(): void;
}

export function makeApiTokenCache(deps: ApiTokenCacheDeps): ApiTokenCache {
  const entries = agingCache<Promise<LiveApiToken | undefined>>({
    max: MAX_TOKENS,
    ttlMs: KNOWN_FOR_MS,
    clock: deps.clock,
  });
  return {
    async find(text) {
      const hash = hashOfApiToken(text);
      if (hash === undefined) return undefined;
      const kept = entries.get(hash);
      if (kept !== undefined) return kept;
      const loading = load(deps, hash);
      entries.set(hash, loading);
      loading.catch(() => {
        if (entries.peek(hash) === loading) entries.delete(hash);
      });
      return loading;
    },
    forget(text) {
      const hash = hashOfApiToken(text);
      if (hash !== undefined) entries.delete(hash);
    },
    forgetAll: () => entries.clear(),
  };
}

async function load(
  { apiTokens, users, rootOrigin, clock, logger }: ApiTokenCacheDeps,
  hash: string,
): Promise<LiveApiToken | undefined> {
  const readAt = performance.now();
  const token = await apiTokens.findByHash(hash);
  if (token === undefined) return undefined;
  const user = await users.findActive(token.userId);
  if (user === undefined) return undefined;
  if (user.isRootAdmin && !isForRoot(token, rootOrigin)) {
    // Its owner is told no more than of any bad token, and one that worked until APP_URL was changed stops without a word.
    logger.warn({ tokenId: token.id, origin: token.origin }, ROOT_ELSEWHERE);
    return undefined;
  }
  const now = clock.now();
  const before = new Date(now.getTime() - LAST_USED_EVERY_MS);
  // No request fails because this note could not be written.
  if (token.lastUsedAt === null || token.lastUsedAt <= before) {
    await apiTokens.noteUse(token.id, now, before).catch(() => undefined);
  }
  return { token, user, readAt };
}
