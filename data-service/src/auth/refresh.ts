// Refresh token -> the next pair, the same for everybody who asks with the same token.
import { AppError } from "@portico/shared/app-error";
import type { Logger } from "@portico/shared/logger";
import type { TokenPair } from "@portico/shared/token-pair";
import { type AcceptRefreshDeps, acceptRefresh } from "./accept-refresh.js";
import { BodyReader } from "./body-reader.js";
import type { ClientFacts } from "./client-facts.js";
import { type RefreshClaims, TOKEN_MAX_CHARACTERS } from "./refresh-token.js";
import { type Session, sessionExpiry } from "./session.js";
import type { Throttle } from "./throttle.js";
import { type Tokens, tokenPair } from "./token-pair.js";

export interface RefreshDeps extends AcceptRefreshDeps {
  readonly sessions: AcceptRefreshDeps["sessions"] & {
    /**
     * One conditional write: undefined, with nothing changed, unless `generation` is still the stored one. The database
     * itself notes when it was made (`supersededAt`).
     */
    rotate(
      sessionId: string,
      generation: number,
      next: { readonly rotatedAt: Date; readonly expiresAt: Date },
    ): Promise<Session | undefined>;
  };
  readonly throttle: Pick<Throttle, "admitRefresh">;
  readonly tokens: Tokens;
}

/**
 * @param log carries the request's correlation id
 * @throws AppError VALIDATION_ERROR, INVALID_TOKEN for unknown, expired, revoked and reused tokens alike, or
 * TOO_MANY_REQUESTS
 */
export async function refresh(
  deps: RefreshDeps,
  body: unknown,
  client: ClientFacts,
  log: Logger,
): Promise<TokenPair> {
  const presented = deps.tokens.refresh.read(readRefreshBody(body));
  if (presented === undefined) throw refused();
  const tryRefresh = () => attempt(deps, presented, client, log);
  // A lost race, or a crowd with the same token, means that somebody else has rotated it: the second attempt repeats their
  // successor.
  const session = (await tryRefresh().catch(lostIfTooMany)) ?? (await tryRefresh());
  if (session === undefined) throw refused();
  return tokenPair(deps.tokens, session);
}

function readRefreshBody(body: unknown): string {
  const reader = new BodyReader(body, ["refreshToken"]);
  const token = reader.text("refreshToken", TOKEN_MAX_CHARACTERS);
  reader.done();
  return token;
}

/**
 * The session whose tokens are to be answered; undefined when the race for the rotation was lost. Only a rotation counts as
 * a refresh: repeats are promised (contract, section 3.1), and cost no more than any other call of a signed-in user.
 */
async function attempt(
  deps: RefreshDeps,
  presented: RefreshClaims,
  client: ClientFacts,
  log: Logger,
): Promise<Session | undefined> {
  const accepted = await acceptRefresh(deps, presented, client, log);
  if (accepted === undefined) throw refused();
  if (accepted.rotation === "repeat") return accepted.session;
  const counted = await deps.throttle.admitRefresh(presented.sessionId);
  const now = deps.clock.now();
  const rotated = await deps.sessions.rotate(presented.sessionId, presented.generation, {
    rotatedAt: now,
    expiresAt: sessionExpiry(accepted.session, now),
  });
  if (rotated === undefined) await counted.withdraw();
  return rotated;
}

/** A crowd is a race as well. */
function lostIfTooMany(error: unknown): undefined {
  if (!(error instanceof AppError) || error.code !== "TOO_MANY_REQUESTS") throw error;
}

function refused(): AppError {
  return new AppError("INVALID_TOKEN", "The refresh token is not valid; sign in again.");
}
