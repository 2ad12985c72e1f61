// The API about itself: /metadata, /openapi.json and /types.ts, each for its own caller.
import { onlyMethods } from "@portico/shared/only-methods";
import { type Request, Router } from "express";
import { principalOf } from "../http/authenticate.js";
import { searchOf } from "../http/request-parts.js";
import { respond } from "../http/respond.js";
import { tablesFor } from "../permission/visible-tables.js";
import { readParameters } from "../query/parameters.js";
import { noTable } from "../records/find-table.js";
import type { RecordDeps } from "../records/record-deps.js";
import { metadataOf } from "./metadata.js";
import { type Described, openApiOf } from "./openapi.js";
import { typesOf } from "./types.js";

export interface MetadataRoutesDeps extends Pick<RecordDeps, "catalogs" | "rights" | "limits"> {
  readonly systemTablePrefix: string;
}

/** Mount it behind `authenticate`. */
export function metadataRoutes(deps: MetadataRoutesDeps, appUrl: string): Router {
  const router = Router({ caseSensitive: true });
  const about = (request: Request): Promise<Described> => describedTo(deps, appUrl, request);

  router
    .route("/metadata")
    .get(async (request, response) => {
      const { tables } = await about(request);
      respond(response, 200, tables.map(metadataOf));
    })
    .all(onlyMethods("GET", "HEAD"));

  router
    .route("/metadata/:table")
    .get(async (request, response) => {
      const { tables } = await about(request);
      const table = tables.find((each) => each.table.name === request.params.table);
      if (table === undefined) throw noTable(String(request.params.table), tables);
      respond(response, 200, [metadataOf(table)]);
    })
    .all(onlyMethods("GET", "HEAD"));

  router
    .route("/openapi.json")
    .get(async (request, response) => void response.json(openApiOf(await about(request))))
    .all(onlyMethods("GET", "HEAD"));

  router
    .route("/types.ts")
    .get(async (request, response) => {
      const { tables, principal } = await about(request);
      response.type("text/plain").send(typesOf(tables, principal));
    })
    .all(onlyMethods("GET", "HEAD"));

  return router;
}

/** What the caller may see at this moment; none of these calls takes any of our parameters. */
async function describedTo(deps: MetadataRoutesDeps, appUrl: string, request: Request): Promise<Described> {
  readParameters(searchOf(request), []);
  const principal = principalOf(request);
  const rights = await deps.rights(principal);
  const catalog = await deps.catalogs.refresh();
  const tables = tablesFor(principal, rights, catalog);
  const { systemTablePrefix, limits } = deps;
  return { principal, catalog, tables, appUrl, systemTablePrefix, maxLimit: limits.maxLimit };
}
