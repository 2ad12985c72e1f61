// Which refresh tokens a sign-in has just replaced in their browser. A request that left it before still carries one of them,
// and its answer must neither clear the new cookies nor set others over them. Those whose session a log-out has ended are kept
// likewise, apart: whoever signs in after that has no cookie left to name the token with.

export interface OverwrittenTokens {
  note(refreshToken: string): void;
  /** Acts whenever the token is noted, and at once where it is. @returns stops that */
  whenNoted(refreshToken: string, act: () => void): () => void;
}

/** How long a request that left the browser before the sign-in may take to get here, and to have its refresh answered. */
const KEPT_MS = 30_000;

/** In memory: with several gateways, only the one that took the sign-in knows. */
export function makeOverwrittenTokens(): OverwrittenTokens {
  const kept = new Map<string, NodeJS.Timeout>();
  const waiting = new Set<{ readonly refreshToken: string; readonly act: () => void }>();
  return {
    note(refreshToken) {
      clearTimeout(kept.get(refreshToken));
      kept.set(refreshToken, setTimeout(() => kept.delete(refreshToken), KEPT_MS).unref());
      for (const each of waiting) if (each.refreshToken === refreshToken) each.act();
    },
    whenNoted(refreshToken, act) {
      if (kept.has(refreshToken)) act();
      const mine = { refreshToken, act };
      waiting.add(mine);
      return () => void waiting.delete(mine);
    },
  };
}
