// Authorization header -> Principal. A bad credential is refused on every route, never treated as anonymous.
import { AppError } from "@portico/shared/app-error";
import { badToken, bearerToken, endedMeanwhile, isAboutToken } from "@portico/shared/bearer-token";
import { beside } from "@portico/shared/beside";
import type { Clock } from "@portico/shared/clock";
import { isSafe } from "@portico/shared/methods";
import { CLIENT_HEADER, type ProvedClients } from "@portico/shared/proved-clients";
import type { Request, RequestHandler, Response } from "express";
import type { AccessTokens } from "../auth/access-token.js";
import { looksLikeApiToken } from "../auth/api-token.js";
import type { ApiTokenCache } from "../auth/api-token-cache.js";
import { type ActiveUser, findAnew, type SessionCache } from "../auth/session-cache.js";
import { LastingCaller } from "../lasting-caller.js";
import {
  ANONYMOUS,
  mayOnlyRead,
  type Requester,
  requireSignedIn,
  type SessionUser,
  type SignedIn,
  sessionOf,
} from "../principal.js";

export interface AuthenticateDeps {
  readonly accessTokens: Pick<AccessTokens, "verify">;
  readonly sessionCache: Pick<SessionCache, "find" | "forgetSession">;
  readonly apiTokenCache: Pick<ApiTokenCache, "find" | "forget">;
  readonly provedClients: ProvedClients;
  readonly clock: Clock;
}

type RecheckDeps = Omit<AuthenticateDeps, "accessTokens" | "provedClients">;

/** A body that took longer may come from somebody who has signed out since its head came. */
const SLOW_BODY_MS = 1_000;

const callers = beside<Request, LastingCaller>();

/**
 * Who is asking. Throws when neither `identify` nor `authenticate` has run: forgetting them must not look like "nobody".
 */
export function principalOf(request: Request): Requester {
  return callerOf(request).principal;
}

/** The requester, who can be looked up again while the request lasts. */
export function callerOf(request: Request): LastingCaller {
  const caller = callers.get(request);
  if (caller === undefined) throw new Error("authenticate must run before this handler");
  return caller;
}

/**
 * Looks at the caller again if the body took long. Readers of bodies call it when all of it has arrived; it does nothing on
 * routes that authenticate nobody.
 * @throws AppError 401 when the session or token has ended meanwhile
 */
export async function recheckCaller(request: Request): Promise<void> {
  await callers.get(request)?.now(SLOW_BODY_MS);
}

/** The user who had been authenticated before the request was refused, if any. */
export function signedInAt(request: Request): SignedIn | undefined {
  const principal = callers.get(request)?.principal;
  return principal?.kind === "user" ? principal : undefined;
}

/**
 * For routes that ignore what an accompanying API token may do, such as the log-out.
 * @throws AppError TOKEN_EXPIRED or INVALID_TOKEN (401) for any Authorization header that proves nobody
 */
export function identify(deps: AuthenticateDeps): RequestHandler {
  return async (request, response, next) => {
    await recognise(deps, request, response);
    next();
  };
}

/**
 * For all others.
 * @throws AppError as `identify` does, and FORBIDDEN for a read-only API token with a method that could change something
 */
export function authenticate(deps: AuthenticateDeps): RequestHandler {
  return async (request, response, next) => {
    const principal = await recognise(deps, request, response);
    if (mayOnlyRead(principal) && !isSafe(request.method)) {
      throw new AppError("FORBIDDEN", `This API token is read-only; it can't be used for ${request.method}.`);
    }
    next();
  };
}

async function recognise(deps: AuthenticateDeps, request: Request, response: Response): Promise<Requester> {
  // `headers` keeps only the first of several; two contradict each other.
  const presented = request.headersDistinct.authorization;
  const { principal, readAt } =
    presented === undefined
      ? { principal: { ...ANONYMOUS, address: request.ip } }
      : await proved(deps, presented);
  if (principal.kind === "user") response.setHeader(CLIENT_HEADER, principal.userId);
  callers.set(request, new LastingCaller(principal, () => proveAnew(deps, request), readAt));
  return principal;
}

/**
 * Who a request comes from now, read anew and not from a cache: for answers that take long. It does not matter whether the
 * access token has expired meanwhile, only whether its session has ended.
 * @returns undefined when the session or API token has ended, or its user is no longer active
 */
export async function currentPrincipal(deps: RecheckDeps, request: Request): Promise<Requester | undefined> {
  return proveAnew(deps, request).catch((error: unknown) => {
    if (error instanceof AppError && error.status === 401) return undefined;
    throw error;
  });
}

/** As `currentPrincipal`. @throws AppError 401 by what has ended: a session or an API token */
async function proveAnew(deps: RecheckDeps, request: Request): Promise<Requester> {
  const principal = principalOf(request);
  if (principal.kind === "anonymous") return principal;
  if (principal.by.kind === "apiToken") {
    const token = bearerToken(request.headers.authorization ?? "") ?? "";
    deps.apiTokenCache.forget(token);
    return (await provedByApiToken(deps, token)).principal;
  }
  const live = await findAnew(deps.sessionCache, principal.by.id, principal.userId);
  if (live === undefined) throw endedMeanwhile();
  return { ...principal, roleId: live.roleId, isRootAdmin: live.isRootAdmin };
}

/**
 * The user of a session.
 * @throws AppError 401 for anonymous callers, 403 for API tokens
 */
export function sessionUserOf(request: Request): SessionUser {
  const user = signedInUserOf(request);
  const by = sessionOf(user);
  if (by === undefined) throw notForApiTokens();
  return { ...user, by };
}

/**
 * Whatever concerns the account itself (its password, sessions, providers and tokens) is out of reach of API tokens: a
 * leaked one must not be able to make more tokens, or to take the account over.
 */
export function notForApiTokens(): AppError {
  return new AppError("FORBIDDEN", "An API token can't be used here; sign in instead.");
}

/** @throws AppError 401 for anonymous callers */
export function signedInUserOf(request: Request): SignedIn {
  return requireSignedIn(principalOf(request));
}

const NO_BEARER = 'Send one Authorization header of the form "Bearer <token>".';

/** Who has proved to be somebody, and as of when. */
interface Proof {
  readonly principal: SignedIn;
  /** When session or token was read, by `performance.now()`. */
  readonly readAt: number;
}

async function proved(deps: AuthenticateDeps, presented: readonly string[]): Promise<Proof> {
  const token = presented.length === 1 ? bearerToken(presented[0] ?? "") : undefined;
  if (token === undefined) throw badToken("INVALID_TOKEN", { message: NO_BEARER });
  const proof = await (looksLikeApiToken(token) ? provedByApiToken : provedBySession)(deps, token);
  deps.provedClients.prove(token, proof.principal.userId);
  return proof;
}

async function provedBySession(deps: AuthenticateDeps, token: string): Promise<Proof> {
  // The signature first: a forged token costs no read.
  const { userId, sessionId, origin } = await deps.accessTokens
    .verify(token, deps.clock.now())
    .catch(withChallenge);
  const live = await deps.sessionCache.find(sessionId, userId);
  if (live === undefined) throw badToken();
  const by = { kind: "session", id: sessionId, origin } as const;
  return { principal: signedIn(userId, live, by), readAt: live.readAt };
}

/** @throws AppError 401 for a token that is not, or no longer, valid */
export async function provedByApiToken(
  deps: { readonly apiTokenCache: Pick<ApiTokenCache, "find">; readonly clock: Clock },
  text: string,
): Promise<Proof> {
  const live = await deps.apiTokenCache.find(text);
  if (live === undefined) throw badToken();
  const { token, user, readAt } = live;
  if (token.expiresAt !== null && token.expiresAt <= deps.clock.now()) throw badToken("TOKEN_EXPIRED");
  const by = { kind: "apiToken", id: token.id, readOnly: token.readOnly } as const;
  return { principal: signedIn(token.userId, user, by), readAt };
}

function signedIn(userId: string, { roleId, isRootAdmin }: ActiveUser, by: SignedIn["by"]): SignedIn {
  return { kind: "user", userId, roleId, isRootAdmin, by };
}

function withChallenge(error: unknown): never {
  throw isAboutToken(error) ? badToken(error.code, { cause: error.cause }) : error;
}
