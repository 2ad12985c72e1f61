// GET /me: the signed-in user's own record, through the same query language as everything else.
import { AppError } from "@portico/shared/app-error";
import { onlyMethods } from "@portico/shared/only-methods";
import { Router } from "express";
import type { Catalog } from "../catalog/catalog.js";
import { principalOf } from "../http/authenticate.js";
import { respond } from "../http/respond.js";
import type { Principal, SignedIn } from "../principal.js";
import { readParameters } from "../query/parameters.js";
import type { RecordDeps } from "../records/deps.js";
import { readOneAs } from "../records/read-one.js";
import { searchOf } from "../records/routes.js";

/** @param users name of the users' table */
export function meRoutes(deps: RecordDeps, users: string): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/me")
    .get(async (request, response) => {
      const principal = requireUser(principalOf(request));
      const parameters = readParameters(searchOf(request), ["fields", "deep"]);
      const rights = await deps.rights(principal);
      const allow = (catalog: Catalog) => rights.own(catalog, principal);
      respond(response, 200, [await readOneAs(deps, allow, users, principal.userId, parameters)]);
    })
    .all(onlyMethods("GET", "HEAD"));
  return router;
}

function requireUser(principal: Principal): SignedIn {
  if (principal.kind === "user") return principal;
  throw new AppError("UNAUTHORIZED", {
    message: "Sign in first.",
    headers: { "WWW-Authenticate": "Bearer" },
  });
}
