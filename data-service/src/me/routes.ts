// /me: the signed-in user's own record, through the same query language as everything else, and their sessions.
import { isClientError } from "@portico/shared/app-error";
import { onlyMethods } from "@portico/shared/only-methods";
import { type Request, Router } from "express";
import { auditFacts } from "../auth/client-facts.js";
import { callerOf, sessionUserOf, signedInUserOf } from "../http/authenticate.js";
import { jsonBody } from "../http/json-body.js";
import { loggingFor } from "../http/logging-for.js";
import { bodyOrNull, searchOf } from "../http/request-parts.js";
import { respond, respondWithRecord } from "../http/respond.js";
import type { SignedIn } from "../principal.js";
import { readParameters, SHAPE_PARAMETERS } from "../query/parameters.js";
import { readOwn } from "../records/read/read-one.js";
import type { RecordDeps } from "../records/record-deps.js";
import type { Standing } from "../records/request.js";
import { expectedVersions, type Versioned } from "../records/version.js";
import { endSession, listSessions, type MySessionsDeps } from "./sessions.js";
import { type UpdateMeDeps, updateMe } from "./update-me.js";

export type MeRoutesDeps = RecordDeps &
  Omit<UpdateMeDeps & MySessionsDeps, "sessions" | "users"> & {
    readonly sessions: UpdateMeDeps["sessions"] & MySessionsDeps["sessions"];
    readonly users: UpdateMeDeps["users"] & MySessionsDeps["users"];
  };

/** @param users name of the users' table */
export function meRoutes(deps: MeRoutesDeps, users: string, bodyMaxBytes: number): Router {
  const router = Router({ caseSensitive: true });

  const readMe = async (request: Request, principal: SignedIn): Promise<Versioned> => {
    const parameters = readParameters(searchOf(request), SHAPE_PARAMETERS);
    const own = ({ rights, catalog }: Standing) => rights.own(catalog, principal);
    return readOwn(deps, own, { principal, table: users, id: principal.userId, parameters });
  };
  /** Only the id if the rest can't be read just now: the record has been changed, and a refusal would say the opposite. */
  const readChanged = ({ logger }: MeRoutesDeps, request: Request, principal: SignedIn): Promise<Versioned> =>
    readMe(request, principal).catch((err: unknown) => {
      if (isClientError(err)) throw err;
      logger.warn({ err, table: users }, "what was written could not be read for the answer");
      return { json: { id: principal.userId }, version: undefined };
    });

  router
    .route("/me")
    .get(async (request, response) => {
      respondWithRecord(response, 200, await readMe(request, signedInUserOf(request)));
    })
    .patch(...jsonBody(bodyMaxBytes), async (request, response) => {
      const principal = signedInUserOf(request);
      // A wrong `fields` is refused before anything changes.
      await readMe(request, principal);
      const expected = expectedVersions(request.get("If-Match"));
      const requestDeps = loggingFor(deps, request);
      const me = { principal, caller: callerOf(request) };
      const change = () =>
        updateMe(requestDeps, me, users, bodyOrNull(request), auditFacts(request), expected);
      await deps.gate.run(change);
      respondWithRecord(response, 200, await readChanged(requestDeps, request, principal));
    })
    .all(onlyMethods("GET", "HEAD", "PATCH"));

  router
    .route("/me/sessions")
    .get(async (request, response) => {
      respond(response, 200, await listSessions(deps, sessionUserOf(request)));
    })
    .all(onlyMethods("GET", "HEAD"));

  router
    .route("/me/sessions/:id")
    .delete(async (request, response) => {
      await endSession(deps, sessionUserOf(request), String(request.params.id), auditFacts(request));
      respond(response, 200);
    })
    .all(onlyMethods("DELETE"));

  return router;
}
