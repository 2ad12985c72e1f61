// Authorization header -> Principal. A bad credential is refused on every route, never taken for nobody.
import { AppError } from "@portico/shared/app-error";
import type { Clock } from "@portico/shared/clock";
import type { Request, RequestHandler } from "express";
import type { AccessTokens } from "../auth/access-token.js";
import type { SessionCache } from "../auth/session-cache.js";
import { ANONYMOUS, type Principal } from "../principal.js";

export interface AuthenticateDeps {
  readonly accessTokens: Pick<AccessTokens, "verify">;
  readonly sessionCache: Pick<SessionCache, "find">;
  readonly clock: Clock;
}

const BEARER = /^Bearer +([\w.~+/-]+=*)$/i;
/** RFC 6750, section 3.1: the same for every bad token. */
const CHALLENGE = { "WWW-Authenticate": 'Bearer error="invalid_token"' };

const principals = new WeakMap<Request, Principal>();

/** Who asks. Throws when `authenticate` has not run: forgetting it must not read as "nobody". */
export function principalOf(request: Request): Principal {
  const principal = principals.get(request);
  if (principal === undefined) throw new Error("authenticate must run before this handler");
  return principal;
}

/** @throws AppError TOKEN_EXPIRED or INVALID_TOKEN (401) for any Authorization header that proves nobody */
export function authenticate(deps: AuthenticateDeps): RequestHandler {
  return async (request, _response, next) => {
    // `headers` keeps only the first of several; two are a contradiction.
    const presented = request.headersDistinct.authorization;
    principals.set(request, presented === undefined ? ANONYMOUS : await proved(deps, presented));
    next();
  };
}

async function proved(deps: AuthenticateDeps, presented: readonly string[]): Promise<Principal> {
  const token = presented.length === 1 ? BEARER.exec(presented[0] ?? "")?.[1] : undefined;
  if (token === undefined) throw refusal("INVALID_TOKEN");
  // Signature first: a forged token costs no read.
  const { userId, sessionId } = await deps.accessTokens.verify(token, deps.clock.now()).catch(withChallenge);
  const live = await deps.sessionCache.find(sessionId, userId);
  if (live === undefined) throw refusal("INVALID_TOKEN");
  return { kind: "user", userId, sessionId, roleId: live.roleId, isRootAdmin: live.isRootAdmin };
}

function withChallenge(error: unknown): never {
  const refused =
    error instanceof AppError && (error.code === "TOKEN_EXPIRED" || error.code === "INVALID_TOKEN");
  throw refused ? refusal(error.code, error.cause) : error;
}

function refusal(code: "TOKEN_EXPIRED" | "INVALID_TOKEN", cause?: unknown): AppError {
  return new AppError(code, { headers: CHALLENGE, cause });
}
