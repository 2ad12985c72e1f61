// Routes about rights themselves: what I may do, and, for root admins, why somebody may do something.
import { onlyMethods } from "@portico/shared/only-methods";
import { Router } from "express";
import { principalOf } from "../http/authenticate.js";
import { jsonBody } from "../http/json-body.js";
import { bodyOrNull, searchOf } from "../http/request-parts.js";
import { respond } from "../http/respond.js";
import { overviewOf } from "../permission/overview.js";
import { tablesFor } from "../permission/visible-tables.js";
import { requireRoot } from "../principal.js";
import { readParameters } from "../query/parameters.js";
import { decideAs } from "./decide-as.js";
import { type ExplainPermissionDeps, explainPermission } from "./explain-permission.js";
import type { RecordDeps } from "./record-deps.js";
import type { Standing } from "./request.js";
import { refuseOnceKey } from "./write/once.js";

export function permissionRoutes(
  deps: RecordDeps & ExplainPermissionDeps,
  bodyMaxBytes: number,
  permissions: string,
): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/me/permissions")
    .get(async (request, response) => {
      readParameters(searchOf(request), []);
      const principal = principalOf(request);
      const overview = ({ rights, catalog }: Standing) => overviewOf(tablesFor(principal, rights, catalog));
      respond(response, 200, await decideAs(deps, principal, overview));
    })
    .all(onlyMethods("GET", "HEAD"));
  router
    .route(`/${permissions}/explain`)
    .post(...jsonBody(bodyMaxBytes), async (request, response) => {
      refuseOnceKey(request.get("Idempotency-Key"));
      readParameters(searchOf(request), []);
      requireRoot(principalOf(request), "Explaining permissions is for root admins.");
      respond(response, 200, [await explainPermission(deps, bodyOrNull(request))]);
    })
    .all(onlyMethods("POST"));
  return router;
}
