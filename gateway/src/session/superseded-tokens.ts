// Which refresh tokens a sign-in has just replaced in their browser, or a log-out has ended. A request that left it before still
// carries one of them, and its answer must neither clear newer cookies nor set others over them.
import { type Clock, steadyTime, systemClock } from "@portico/shared/clock";
import { secretHash } from "@portico/shared/secret-hash";
import { LRUCache } from "lru-cache";

export interface NotedTokens {
  note(refreshToken: string): void;
  /** Acts whenever the token is noted, and at once where it is. @returns stops that */
  whenNoted(refreshToken: string, act: () => void): () => void;
}

/** Apart, for a log-out clears the cookies whose session another has ended, and not those that a sign-in has replaced. */
export interface SupersededTokens {
  readonly bySignIn: NotedTokens;
  /** Whoever signs in after that has no cookie left to name the token with. */
  readonly byLogOut: NotedTokens;
}

/** How long a request that left the browser before may take to get here, and to have its refresh answered. */
const KEPT_MS = 30_000;
/** Of each kind: anybody can make tokens up, and log out with them. */
const MOST_KEPT = 10_000;

/** In memory: with several gateways, only the one that took the sign-in or the log-out knows. */
export function makeSupersededTokens(clock: Clock = systemClock): SupersededTokens {
  return { bySignIn: noteTokens(clock), byLogOut: noteTokens(clock) };
}

function noteTokens(clock: Clock): NotedTokens {
  // By their hashes: a token that is kept keeps the whole Cookie header in memory, of which it is a part.
  const kept = new LRUCache<string, true>({
    max: MOST_KEPT,
    ttl: KEPT_MS,
    // Exact ages, as tests move the clock.
    ttlResolution: 0,
    perf: { now: steadyTime(clock) },
  });
  const waiting = new Set<{ readonly hash: string; readonly act: () => void }>();
  return {
    note(refreshToken) {
      const hash = secretHash(refreshToken);
      kept.set(hash, true);
      for (const each of waiting) if (each.hash === hash) each.act();
    },
    whenNoted(refreshToken, act) {
      const mine = { hash: secretHash(refreshToken), act };
      if (kept.has(mine.hash)) act();
      waiting.add(mine);
      return () => void waiting.delete(mine);
    },
  };
}
