// Session -> the two tokens of its current generation, always the same two.
import type { TokenPair } from "@portico/shared/token-pair";
import type { AccessTokens } from "./access-token.js";
import type { RefreshTokens } from "./refresh-token.js";
import type { Session } from "./session.js";

/** Makes and reads both kinds of token. */
export interface Tokens {
  readonly access: AccessTokens;
  readonly refresh: RefreshTokens;
}

/** Every byte derives from what is stored, so parallel callers on any instance get the same pair. */
export async function tokenPair(tokens: Tokens, session: Session): Promise<TokenPair> {
  const { id: sessionId, userId, origin, generation } = session;
  const issuedAtSeconds = Math.floor(session.rotatedAt.getTime() / 1000);
  return {
    accessToken: await tokens.access.sign({ userId, sessionId, origin }, issuedAtSeconds),
    refreshToken: tokens.refresh.write({ sessionId, generation }),
    expTime: (issuedAtSeconds + tokens.access.ttlSeconds) * 1000,
    refreshExpTime: session.expiresAt.getTime(),
    loginProvider: session.provider,
  };
}
