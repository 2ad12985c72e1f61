// /auth/api-tokens: one's own API tokens, for signed-in users only.
import { SMALL_BODY_MAX_BYTES } from "@portico/shared/body-limits";
import { onlyMethods } from "@portico/shared/only-methods";
import { Router } from "express";
import { sessionUserOf } from "../http/authenticate.js";
import { bodyOf, jsonBody } from "../http/json-body.js";
import { respond } from "../http/respond.js";
import { refuseOnceKey } from "../records/write/once.js";
import {
  type ApiTokensDeps,
  listApiTokens,
  makeApiToken,
  readApiToken,
  revokeApiToken,
} from "./api-tokens.js";
import { auditFacts } from "./client-facts.js";

/** Mount it behind `authenticate`. */
export function apiTokenRoutes(deps: ApiTokensDeps): Router {
  const router = Router({ caseSensitive: true });

  router
    .route("/auth/api-tokens")
    .get(async (request, response) => {
      respond(response, 200, await listApiTokens(deps, sessionUserOf(request).userId));
    })
    .post(...jsonBody(SMALL_BODY_MAX_BYTES), async (request, response) => {
      refuseOnceKey(request.get("Idempotency-Key"));
      const { userId, by } = sessionUserOf(request);
      const maker = { userId, sessionId: by.id };
      const token = await makeApiToken(deps, maker, bodyOf(request), auditFacts(request));
      response.location(`/api/auth/api-tokens/${token.id}`);
      respond(response, 201, [token]);
    })
    .all(onlyMethods("GET", "HEAD", "POST"));

  router
    .route("/auth/api-tokens/:id")
    .get(async (request, response) => {
      const { userId } = sessionUserOf(request);
      respond(response, 200, [await readApiToken(deps, userId, String(request.params.id))]);
    })
    .delete(async (request, response) => {
      const { userId } = sessionUserOf(request);
      await revokeApiToken(deps, userId, String(request.params.id), auditFacts(request));
      respond(response, 200);
    })
    .all(onlyMethods("GET", "HEAD", "DELETE"));

  return router;
}
