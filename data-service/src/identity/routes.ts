// GET /me/oauth-accounts, DELETE /me/oauth-accounts/{id}: the providers a user has connected.
import { onlyMethods } from "@portico/shared/only-methods";
import { Router } from "express";
import { auditFacts } from "../auth/client-facts.js";
import { sessionUserOf } from "../http/authenticate.js";
import { respond } from "../http/respond.js";
import type { LinkedAccount, LinkedAccounts } from "./accounts.js";
import { type UnlinkDeps, unlink } from "./unlink.js";

export interface OAuthAccountRoutesDeps extends UnlinkDeps {
  readonly accounts: UnlinkDeps["accounts"] & Pick<LinkedAccounts, "listOf">;
}

/** Mount it behind `authenticate`. */
export function oauthAccountRoutes(deps: OAuthAccountRoutesDeps): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/me/oauth-accounts")
    .get(async (request, response) => {
      const accounts = await deps.accounts.listOf(sessionUserOf(request).userId);
      respond(response, 200, accounts.map(toJson));
    })
    .all(onlyMethods("GET", "HEAD"));
  router
    .route("/me/oauth-accounts/:id")
    .delete(async (request, response) => {
      await unlink(deps, sessionUserOf(request), request.params.id, auditFacts(request));
      respond(response, 200);
    })
    .all(onlyMethods("DELETE"));
  return router;
}

function toJson({ id, provider, email, origin, createdAt }: LinkedAccount) {
  return { id, provider, email, origin, createdAt: createdAt.toISOString() };
}
