// /{table}/changes and /{table}/{id}/history. A record to which another program gave the id `changes` can't be reached by
// its address; none is made with it here (catalog/names).
import { onlyMethods } from "@portico/shared/only-methods";
import { type Request, Router } from "express";
import { countedAs } from "../counted-as.js";
import { callerOf, principalOf } from "../http/authenticate.js";
import { loggingFor } from "../http/logging-for.js";
import { searchOf } from "../http/request-parts.js";
import { respondWithList } from "../http/respond.js";
import type { Principal } from "../principal.js";
import { readCall, readParameters } from "../query/parameters.js";
import { type FollowDeps, follow, type LastEvent } from "./follow.js";
import { type HistoryDeps, history } from "./history.js";

export interface ChangesRoutesDeps extends FollowDeps, HistoryDeps {
  /** Who a request comes from now; undefined when the session or token has ended. */
  readonly present: (request: Request) => Promise<Principal | undefined>;
}

export function changesRoutes(deps: ChangesRoutesDeps): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/:table/changes")
    .head(onlyMethods("GET"))
    .get(async (request, response) => {
      const call = readCall(searchOf(request), ["fields", "filter", "deep"], ["lastEventId"]);
      const follower = {
        principal: principalOf(request),
        readAt: callerOf(request).readAt,
        caller: countedAs(principalOf(request)),
        present: () => deps.present(request),
        table: String(request.params.table),
        parameters: call.parameters,
        lastEvent: lastEventOf(request, call.textOf("lastEventId")),
      };
      await follow(loggingFor(deps, request), follower, response);
    })
    .all(onlyMethods("GET"));
  router
    .route("/:table/:id/history")
    .get(async (request, response) => {
      const parameters = readParameters(searchOf(request), ["limit", "page", "meta"]);
      const { table, id } = request.params;
      const { entries, meta } = await history(deps, callerOf(request), String(table), String(id), parameters);
      await respondWithList(response, entries, meta);
    })
    .all(onlyMethods("GET", "HEAD"));
  return router;
}

/**
 * Browsers send the header when they reconnect by themselves, and give up after an answer that is not 200; a page that then
 * opens a new stream can name the event only in the address. If both are there, the header is newer.
 */
function lastEventOf(request: Request, named: string | undefined): LastEvent | undefined {
  const [id, ...more] = request.headersDistinct["last-event-id"] ?? [];
  // Several contradict each other, and are no id of ours.
  if (id !== undefined) return { name: "Last-Event-ID", id: more.length > 0 ? "several" : id };
  return named === undefined ? undefined : { name: "lastEventId", id: named };
}
