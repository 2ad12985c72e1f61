// Which refresh tokens a sign-in has just replaced in their browser. A request that left it before still carries one of them,
// and its answer must not clear the new cookies.

export interface OverwrittenTokens {
  note(refreshToken: string): void;
  has(refreshToken: string): boolean;
}

/** As long as most answers may take. */
const KEPT_MS = 30_000;

/** In memory: with several gateways, only the one that took the sign-in knows. */
export function makeOverwrittenTokens(): OverwrittenTokens {
  const kept = new Set<string>();
  return {
    note(refreshToken) {
      kept.add(refreshToken);
      setTimeout(() => kept.delete(refreshToken), KEPT_MS).unref();
    },
    has: (refreshToken) => kept.has(refreshToken),
  };
}
