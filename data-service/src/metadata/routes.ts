// The API about itself: /metadata, /openapi.json and /types.ts, each for its own caller.
import { success } from "@portico/shared/envelope";
import { onlyMethods } from "@portico/shared/only-methods";
import { type Request, Router } from "express";
import { systemTableNames } from "../catalog/system-tables.js";
import { principalOf } from "../http/authenticate.js";
import { searchOf } from "../http/request-parts.js";
import { respond } from "../http/respond.js";
import { ownTables, tablesFor } from "../permission/visible-tables.js";
import { mayOnlyRead, type Requester, sessionOf } from "../principal.js";
import { readParameters } from "../query/parameters.js";
import { standingNow } from "../records/decide-as.js";
import { noTable, similarTables } from "../records/find-table.js";
import type { RecordDeps } from "../records/record-deps.js";
import { KeptTexts } from "./kept-texts.js";
import { metadataOf } from "./metadata.js";
import { type Described, openApiOf } from "./openapi.js";
import { typesOf } from "./types.js";

export interface MetadataRoutesDeps extends Pick<RecordDeps, "catalogs" | "rights" | "limits"> {
  readonly systemTablePrefix: string;
}

/** Mount it behind `authenticate`. */
export function metadataRoutes(deps: MetadataRoutesDeps, appUrl: string): Router {
  const router = Router({ caseSensitive: true });
  const { systemTablePrefix, limits } = deps;
  const names = systemTableNames(systemTablePrefix);
  const kept = new KeptTexts();

  /** @param what names the text */
  const textFor = async (
    request: Request,
    what: string,
    write: (about: Described) => string,
  ): Promise<Buffer> => {
    const { principal, rights, catalog } = await askedBy(deps, request);
    const { rules, caller } = rights.decisive;
    return kept.of([rules, catalog], [what, kindOf(principal), caller], () => {
      const tables = tablesFor(principal, rights, catalog);
      const own = ownTables(principal, rights, catalog, names);
      return write({ principal, catalog, tables, own, appUrl, systemTablePrefix, maxLimit: limits.maxLimit });
    });
  };

  router
    .route("/metadata")
    .get(async (request, response) => {
      const write = ({ tables }: Described) => JSON.stringify(success(200, tables.map(metadataOf)));
      response.type("application/json").send(await textFor(request, "metadata", write));
    })
    .all(onlyMethods("GET", "HEAD"));

  router
    .route("/metadata/:table")
    .get(async (request, response) => {
      const name = String(request.params.table);
      const { principal, rights, catalog } = await askedBy(deps, request);
      const tables = tablesFor(principal, rights, catalog, similarTables(catalog, name));
      const table = tables.find((each) => each.table.name === name);
      if (table === undefined) throw noTable(name, tables);
      respond(response, 200, [metadataOf(table)]);
    })
    .all(onlyMethods("GET", "HEAD"));

  router
    .route("/openapi.json")
    .get(async (request, response) => {
      const write = (about: Described) => JSON.stringify(openApiOf(about));
      response.type("application/json").send(await textFor(request, "openapi", write));
    })
    .all(onlyMethods("GET", "HEAD"));

  router
    .route("/types.ts")
    .get(async (request, response) => {
      const write = ({ tables, principal, own }: Described) => typesOf(tables, principal, own);
      response.type("text/plain").send(await textFor(request, "types", write));
    })
    .all(onlyMethods("GET", "HEAD"));

  return router;
}

/** Who asks, and what they may do at this moment; none of these calls takes any of our parameters. */
async function askedBy(deps: Pick<RecordDeps, "catalogs" | "rights">, request: Request) {
  readParameters(searchOf(request), []);
  const principal = principalOf(request);
  return { principal, ...(await standingNow(deps, principal)) };
}

/** What the texts say of callers besides what their rules let them do. */
function kindOf(requester: Requester): string {
  const isSignedIn = requester.kind === "user";
  const [isRoot, hasSession] = [isSignedIn && requester.isRootAdmin, sessionOf(requester) !== undefined];
  return JSON.stringify({ isSignedIn, isRoot, hasSession, readOnly: mayOnlyRead(requester) });
}
