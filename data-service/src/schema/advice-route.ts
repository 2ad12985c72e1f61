// GET /svc_table/{id}/advice: which indexes would help the queries that a table has seen.
import { onlyMethods } from "@portico/shared/only-methods";
import { Router } from "express";
import { principalOf } from "../http/authenticate.js";
import { searchOf } from "../http/request-parts.js";
import { respond } from "../http/respond.js";
import { readParameters } from "../query/parameters.js";
import { adviseTable } from "../records/read/advice.js";
import type { RecordDeps } from "../records/record-deps.js";

/** @param tables name of the table of tables */
export function adviceRoute(deps: RecordDeps, tables: string): Router {
  const router = Router({ caseSensitive: true });
  router
    .route(`/${tables}/:id/advice`)
    .get(async (request, response) => {
      readParameters(searchOf(request), []);
      const id = String(request.params.id);
      respond(response, 200, await adviseTable(deps, principalOf(request), tables, id));
    })
    .all(onlyMethods("GET", "HEAD"));
  return router;
}
