// A sign-in on its way: begun here, and taken exactly once when the provider sends the browser back.
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Flow, LinkWish, StartFlow, TakeFlow } from "@portico/shared/internal-api";
import type { Provider } from "@portico/shared/oauth";
import { secretHash } from "@portico/shared/secret-hash";
import type { AccessTokens } from "../auth/access-token.js";
import { looksLikeApiToken } from "../auth/api-token.js";
import type { ApiTokenCache } from "../auth/api-token-cache.js";
import type { Session } from "../auth/session.js";
import type { SessionCache } from "../auth/session-cache.js";
import type { Throttle } from "../auth/throttle.js";
import { notForApiTokens, provedByApiToken } from "../http/authenticate.js";

/** How long somebody may spend at the provider (contract, section 3.4). */
const FLOW_MS = 10 * 60_000;
/** To connect a provider, a user must have signed in this recently (security row B4). */
const FRESH_MS = 15 * 60_000;

export interface StoredFlow extends Flow {
  readonly stateHash: string;
  readonly provider: Provider;
  readonly expiresAt: Date;
}

export interface FlowDeps {
  readonly flows: {
    insert(flow: StoredFlow, now: Date): Promise<void>;
    /** One write: undefined, with nothing taken, unless all of this matches. */
    take(wanted: {
      readonly stateHash: string;
      readonly provider: Provider;
      /** One of these must be the flow's, if the flow stays on the app's own origin. */
      readonly flowCookieHashes: readonly string[];
      readonly now: Date;
    }): Promise<Flow | undefined>;
  };
  readonly tokens: { readonly access: Pick<AccessTokens, "verify"> };
  readonly sessionCache: Pick<SessionCache, "find">;
  readonly apiTokenCache: Pick<ApiTokenCache, "find">;
  readonly sessions: { find(sessionId: string): Promise<Session | undefined> };
  readonly throttle: Pick<Throttle, "admitOAuthStart">;
  /** OAUTH_STARTS_PER_MINUTE */
  readonly oauthStartsPerMinute: number;
  readonly clock: Clock;
}

/**
 * @param address of the browser
 * @throws AppError 401 or 403 when somebody wants to connect a provider without a fresh sign-in; 429
 */
export async function startFlow(deps: FlowDeps, wish: StartFlow, address: string | null): Promise<void> {
  if (deps.oauthStartsPerMinute > 0) await deps.throttle.admitOAuthStart(address, deps.oauthStartsPerMinute);
  const now = deps.clock.now();
  const { provider, redirect, bridgePrefix, codeVerifier, isOwnOrigin, accessToken } = wish;
  const link = accessToken === null ? null : await freshSession(deps, accessToken, now);
  await deps.flows.insert(
    {
      provider,
      redirect,
      bridgePrefix,
      codeVerifier,
      isOwnOrigin,
      link,
      stateHash: secretHash(wish.state),
      flowCookieHash: secretHash(wish.flowCookie),
      expiresAt: new Date(now.getTime() + FLOW_MS),
    },
    now,
  );
}

async function freshSession(deps: FlowDeps, accessToken: string, now: Date): Promise<LinkWish> {
  if (looksLikeApiToken(accessToken)) {
    await provedByApiToken(deps, accessToken);
    throw notForApiTokens();
  }
  const { userId, sessionId } = await deps.tokens.access.verify(accessToken, now);
  const live = await deps.sessionCache.find(sessionId, userId);
  const session = live === undefined ? undefined : await deps.sessions.find(sessionId);
  if (session === undefined) throw new AppError("INVALID_TOKEN");
  if (now.getTime() - session.createdAt.getTime() <= FRESH_MS) return { userId, sessionId };
  throw new AppError("FORBIDDEN", {
    message: "Connecting a provider needs a sign-in at most 15 minutes old; sign in again and repeat.",
    details: { reason: "sign_in_too_old" },
  });
}

export function takeFlow(
  { flows, clock }: Pick<FlowDeps, "flows" | "clock">,
  wish: TakeFlow,
): Promise<Flow | undefined> {
  return flows.take({
    stateHash: secretHash(wish.state),
    provider: wish.provider,
    flowCookieHashes: wish.flowCookies.map(secretHash),
    now: clock.now(),
  });
}
