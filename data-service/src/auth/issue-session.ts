// A user who has proved their identity -> a new session and its first tokens.
import { randomBytes } from "node:crypto";
import type { Clock } from "@portico/shared/clock";
import type { TokenPair } from "@portico/shared/token-pair";
import type { ClientFacts } from "./client-facts.js";
import { type Origins, type Session, sessionExpiry } from "./session.js";
import { type Tokens, tokenPair } from "./token-pair.js";

export interface IssueSessionDeps {
  readonly sessions: { insert(session: Session): Promise<void> };
  readonly users: {
    /** The user's epoch as stored now (see auth/session). */
    epochOf(userId: string): Promise<string>;
  };
  readonly tokens: Tokens;
  readonly clock: Clock;
}

/** Who signed in and how. */
export interface SignIn {
  readonly userId: string;
  readonly remember: boolean;
  /** The OAuth provider; null for a password. */
  readonly provider: string | null;
  /** See auth/session. */
  readonly connectedOn?: Origins;
  /**
   * The user's epoch when the proof was checked: if the password has changed since then, the session is dead from the start.
   * Without it, the epoch that is stored now.
   */
  readonly epoch?: string;
}

export async function issueSession(
  deps: IssueSessionDeps,
  signIn: SignIn,
  client: ClientFacts,
): Promise<TokenPair> {
  return tokenPair(deps.tokens, await startSession(deps, signIn, client));
}

/** For callers that must look at something else before anybody gets the tokens. */
export async function startSession(
  { sessions, users, clock }: Omit<IssueSessionDeps, "tokens">,
  { userId, remember, provider, connectedOn = [], epoch }: SignIn,
  { origin, userAgent, address }: ClientFacts,
): Promise<Session> {
  const now = clock.now();
  const session: Session = {
    id: randomBytes(16).toString("base64url"),
    userId,
    epochs: [epoch ?? (await users.epochOf(userId))],
    origin,
    generation: 0,
    rotatedAt: now,
    createdAt: now,
    lastUsedAt: now,
    expiresAt: sessionExpiry({ createdAt: now, remember }, now),
    remember,
    provider,
    ...(connectedOn.length > 0 && { connectedOn }),
    userAgent,
    address,
  };
  await sessions.insert(session);
  return session;
}
