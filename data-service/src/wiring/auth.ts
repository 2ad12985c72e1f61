// Builds everything that signs users in and checks who is calling, from settings, keys and the database.
import { makeAssertions } from "@portico/shared/assertion";
import { systemClock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { ProvedClients } from "@portico/shared/proved-clients";
import type { RequestHandler } from "express";
import { makeAccessTokens } from "../auth/access-token.js";
import { makeAccountDigest } from "../auth/account-digest.js";
import { makeApiTokenCache } from "../auth/api-token-cache.js";
import type { ApiTokensDeps } from "../auth/api-tokens.js";
import { type AuditLog, makeAudit } from "../auth/audit.js";
import { auditOnceAMinute } from "../auth/audit-once-a-minute.js";
import type { KeyRoutesDeps } from "../auth/key-routes.js";
import { makeKeySealer } from "../auth/key-sealer.js";
import { makeOutcomes } from "../auth/outcomes.js";
import { makePasswordHasher } from "../auth/password-hasher.js";
import { makeRefreshTokens } from "../auth/refresh-token.js";
import type { AuthRoutesDeps } from "../auth/routes.js";
import type { RootOrigin } from "../auth/session.js";
import { makeSessionCache } from "../auth/session-cache.js";
import { openStoredKeys, readStoredKeys } from "../auth/stored-keys.js";
import { makeThrottle } from "../auth/throttle.js";
import type { Config } from "../config.js";
import { authenticate, identify } from "../http/authenticate.js";
import type { InternalRoutesDeps } from "../identity/internal-routes.js";
import type { OAuthAccountRoutesDeps } from "../identity/routes.js";
import type { Secrets } from "../local-secrets.js";
import type { CacheNotes, Metrics } from "../metrics.js";
import { makeAdminLock, makeAdminStore } from "../mongo/admin-store.js";
import { makeApiTokenStore } from "../mongo/api-token-store.js";
import { makeAuditStore } from "../mongo/audit-store.js";
import type { Store } from "../mongo/connect.js";
import { makeIdentityStore } from "../mongo/identity-store.js";
import { makeKeyStore } from "../mongo/key-store.js";
import { makeOnceStore } from "../mongo/once-store.js";
import { sweepOwnerless } from "../mongo/ownerless-rows.js";
import { authSweeps, makeSessionStore } from "../mongo/session-store.js";
import { makeThrottleStore } from "../mongo/throttle-store.js";
import { makeUserStore } from "../mongo/user-store.js";
import type { RequireSpace } from "../space-check.js";

/** Where providers may sign root admins in. */
export function rootOriginOf({ oauthRootElsewhere, appUrl }: Config): RootOrigin {
  return oauthRootElsewhere ? null : appUrl;
}

/** Who starts a service came by no request. */
const NO_CLIENT = { address: null, origin: null, userAgent: null };

export async function makeAuth(
  config: Config,
  secrets: Secrets,
  { db }: Store,
  metrics: Metrics,
  logger: Logger,
  requireSpace: RequireSpace | undefined,
): Promise<AuthDeps> {
  const clock = systemClock;
  const rootOrigin = rootOriginOf(config);
  const entries = makeAuditStore(db, config.systemTablePrefix);
  const audit = metrics.audited(makeAudit({ entries, requireSpace, clock, logger }));
  const ring = {
    store: makeKeyStore(db),
    sealer: makeKeySealer(secrets.encryptionKey),
    clock,
    ttlSeconds: config.accessTokenTtlSeconds,
  };
  const rotated = (kid: string) =>
    audit.record({ event: "keys.rotated", details: { kid, by: "start" } }, NO_CLIENT);
  const { signingKey } = secrets;
  const keys = await (signingKey === undefined
    ? readStoredKeys(ring)
    : openStoredKeys(ring, signingKey, rotated));
  const users = makeUserStore(db, config.systemTablePrefix);
  const sessions = makeSessionStore(db);
  const apiTokens = makeApiTokenStore(db);
  const tokens = {
    access: makeAccessTokens(keys, config.appUrl, config.accessTokenTtlSeconds),
    refresh: makeRefreshTokens(secrets.encryptionKey),
  };
  const [ofSessions, ofTokens] = [metrics.cache("sessions"), metrics.cache("api_tokens")];
  const sessionCache = counted(
    makeSessionCache({ sessions: { find: noted(ofSessions.load, sessions.find) }, users, rootOrigin, clock }),
    ofSessions,
  );
  const tokenStore = { ...apiTokens, findByHash: noted(ofTokens.load, apiTokens.findByHash) };
  const apiTokenCache = counted(
    makeApiTokenCache({ apiTokens: tokenStore, users, rootOrigin, clock, logger }),
    ofTokens,
  );
  const hasher = makePasswordHasher();
  const digest = makeAccountDigest(secrets.encryptionKey);
  const tries = makeThrottleStore(db);
  const outcomes = makeOutcomes(tries, logger);
  const throttle = metrics.throttled(makeThrottle({ store: tries, outcomes, digest, clock }));
  const provedClients = new ProvedClients();
  const proofs = { accessTokens: tokens.access, sessionCache, apiTokenCache, clock, provedClients };
  return {
    appUrl: config.appUrl,
    rootOrigin,
    users,
    sessions,
    apiTokens,
    clock,
    tokens,
    sessionCache,
    apiTokenCache,
    forgetUser(userId) {
      sessionCache.forgetUser(userId);
      apiTokenCache.forgetAll();
    },
    hasher,
    keys,
    logger,
    digest,
    throttle,
    outcomes,
    audit,
    sweeps: [
      ...authSweeps(db),
      sweepOwnerless(db, config.systemTablePrefix),
      entries.sweep,
      makeOnceStore(db).sweep,
    ],
    provedClients,
    identify: identify(proofs),
    authenticate: authenticate(proofs),
  };
}

/** The same cache, with its lookups counted. */
function counted<Cache extends { find(...asked: never[]): unknown }>(
  cache: Cache,
  { lookup }: CacheNotes,
): Cache {
  return { ...cache, find: noted(lookup, cache.find) };
}

/** The same function, noted before each call. */
export function noted<Args extends unknown[], Result>(
  note: () => void,
  work: (...args: Args) => Result,
): (...args: Args) => Result {
  return (...args) => {
    note();
    return work(...args);
  };
}

export type AuthDeps = AuthRoutesDeps & ApiTokensDeps & KeyRoutesDeps & AuthParts;
export type IdentityDeps = InternalRoutesDeps & OAuthAccountRoutesDeps;

export function makeIdentity(config: Config, secrets: Secrets, { db }: Store, auth: AuthDeps): IdentityDeps {
  const { rootOrigin, clock, audit } = auth;
  return {
    ...auth,
    ...makeIdentityStore(db, config.systemTablePrefix),
    auditOnceAMinute: auditOnceAMinute(audit),
    adminLock: makeAdminLock(db, clock),
    putTurn: makeAdminStore(db, config.systemTablePrefix, rootOrigin).putTurn,
    assertions: makeAssertions(secrets.serviceSecret),
    oauthSignup: config.oauthSignup,
    oauthSignupRole: config.oauthSignupRole,
    oauthStartsPerMinute: config.oauthStartsPerMinute,
  };
}

/** Parts that other rooms use, too. */
export interface AuthParts {
  readonly provedClients: ProvedClients;
  readonly users: ReturnType<typeof makeUserStore>;
  readonly sessions: ReturnType<typeof makeSessionStore>;
  readonly apiTokens: ReturnType<typeof makeApiTokenStore>;
  readonly sessionCache: ReturnType<typeof makeSessionCache>;
  readonly apiTokenCache: ReturnType<typeof makeApiTokenCache>;
  /** Forgets what is cached about a user, so that a change holds at once. */
  readonly forgetUser: (userId: string) => void;
  readonly hasher: ReturnType<typeof makePasswordHasher>;
  readonly throttle: ReturnType<typeof makeThrottle>;
  readonly outcomes: ReturnType<typeof makeOutcomes>;
  readonly audit: AuditLog;
  readonly authenticate: RequestHandler;
  /** These remove expired things. */
  readonly sweeps: readonly ((now: Date) => Promise<unknown>)[];
}
