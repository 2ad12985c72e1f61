// The auth calls that issue and end tokens, and the public keys (contract, section 3.2).
import { SMALL_BODY_MAX_BYTES } from "@portico/shared/body-limits";
import type { Logger } from "@portico/shared/logger";
import { onlyMethods } from "@portico/shared/only-methods";
import type { TokenPair } from "@portico/shared/token-pair";
import { type RequestHandler, type Response, Router } from "express";
import { principalOf } from "../http/authenticate.js";
import { bodyOf, jsonBody } from "../http/json-body.js";
import { logOf } from "../http/logging-for.js";
import type { AuditLog } from "./audit.js";
import { clientFacts } from "./client-facts.js";
import type { KeyRing } from "./keys.js";
import { type LogInDeps, logIn } from "./log-in.js";
import { type LogOutDeps, logOut } from "./log-out.js";
import { type RefreshDeps, refresh } from "./refresh.js";
import { JWKS_MAX_AGE_SECONDS } from "./stored-keys.js";

export interface AuthRoutesDeps extends LogInDeps, LogOutDeps, RefreshDeps {
  readonly sessions: LogInDeps["sessions"] & LogOutDeps["sessions"] & RefreshDeps["sessions"];
  readonly users: LogInDeps["users"] & RefreshDeps["users"];
  readonly throttle: LogInDeps["throttle"] & RefreshDeps["throttle"];
  readonly tokens: RefreshDeps["tokens"];
  readonly audit: AuditLog;
  readonly keys: KeyRing;
  readonly logger: Logger;
  /** Login and refresh ignore the Authorization header; the other routes here do not. */
  readonly identify: RequestHandler;
}

/** Mount it before the service's own body parser and `authenticate`. */
export function authRoutes(deps: AuthRoutesDeps): Router {
  const router = Router({ caseSensitive: true });
  const body = jsonBody(SMALL_BODY_MAX_BYTES);

  router
    .route("/auth/login")
    .post(...body, async (request, response) => {
      answer(response, await logIn(deps, bodyOf(request), clientFacts(request)));
    })
    .all(onlyMethods("POST"));

  router
    .route("/auth/refresh-token")
    .post(...body, async (request, response) => {
      answer(response, await refresh(deps, bodyOf(request), clientFacts(request), logOf(request, deps)));
    })
    .all(onlyMethods("POST"));

  router
    .route("/auth/logout")
    .post(deps.identify, ...body, async (request, response) => {
      await logOut(deps, bodyOf(request), principalOf(request), clientFacts(request));
      answer(response, {});
    })
    .all(onlyMethods("POST"));

  router
    .route("/.well-known/jwks.json")
    .get(deps.identify, async (_request, response) => {
      const jwks = await deps.keys.jwks(deps.clock.now());
      response.set("Cache-Control", `public, max-age=${JWKS_MAX_AGE_SECONDS}`).json(jwks);
    })
    .all(onlyMethods("GET", "HEAD"));

  return router;
}

/** Auth answers have their keys at the top level (contract, section 2). */
function answer(response: Response, keys: TokenPair | Record<string, never>): void {
  response.json({ statusCode: 200, message: "Success", ...keys });
}
