// A user who has proved who they are -> a new session and its first tokens.
import { randomBytes } from "node:crypto";
import type { Clock } from "@portico/shared/clock";
import type { TokenPair } from "@portico/shared/token-pair";
import { type Session, sessionExpiry } from "./session.js";
import { type Tokens, tokenPair } from "./token-pair.js";

export interface IssueSessionDeps {
  readonly sessions: { insert(session: Session): Promise<void> };
  readonly tokens: Tokens;
  readonly clock: Clock;
}

/** Where a sign-in came from. */
export interface ClientFacts {
  /** The web origin the session is for; null when no browser asked. */
  readonly origin: string | null;
  readonly userAgent: string | null;
  readonly address: string | null;
}

/** Who signed in and how. */
export interface SignIn {
  readonly userId: string;
  readonly remember: boolean;
  /** The OAuth provider; null for a password. */
  readonly provider: string | null;
}

export async function issueSession(
  { sessions, tokens, clock }: IssueSessionDeps,
  { userId, remember, provider }: SignIn,
  { origin, userAgent, address }: ClientFacts,
): Promise<TokenPair> {
  const now = clock.now();
  const session: Session = {
    id: randomBytes(16).toString("base64url"),
    userId,
    origin,
    generation: 0,
    rotatedAt: now,
    createdAt: now,
    lastUsedAt: now,
    expiresAt: sessionExpiry({ createdAt: now, remember }, now),
    remember,
    provider,
    userAgent,
    address,
  };
  await sessions.insert(session);
  return tokenPair(tokens, session);
}
