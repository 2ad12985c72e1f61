// The routes of every table: /{table} and /{table}/{id}.
import { AppError } from "@portico/shared/app-error";
import { success } from "@portico/shared/envelope";
import { onlyMethods } from "@portico/shared/only-methods";
import { type Request, type Response, Router } from "express";
import { callerOf, principalOf } from "../http/authenticate.js";
import { jsonBody } from "../http/json-body.js";
import { loggingFor } from "../http/logging-for.js";
import { bodyOrNull, requireNoBody, searchOf } from "../http/request-parts.js";
import {
  respond,
  respondCreated,
  respondWithFile,
  respondWithList,
  respondWithRecord,
} from "../http/respond.js";
import { dispatch, type Methods, type OwnHandlers } from "../http/table-handlers.js";
import {
  type Parameters,
  readCall,
  readParameters,
  readQuery,
  SHAPE_PARAMETERS,
} from "../query/parameters.js";
import { Stop } from "../stop.js";
import { exportText, FILE_TYPES } from "../transfer/write-export.js";
import { createAsked } from "./create-handler.js";
import { remove } from "./delete/remove.js";
import { restore } from "./delete/restore.js";
import { list } from "./read/list.js";
import { readOne } from "./read/read-one.js";
import type { RecordDeps } from "./record-deps.js";
import type { RecordCall } from "./request.js";
import { expectedVersions } from "./version.js";
import { type Many, type ManyRequest, removeMany, updateMany } from "./write/many.js";
import { refuseOnceKey } from "./write/once.js";
import { update } from "./write/update.js";

/**
 * @param own handlers of tables with their own way to change, by table name; they replace these for the methods
 * they name, and null takes a method away
 */
export function recordRoutes(deps: RecordDeps, bodyMaxBytes: number, own: OwnHandlers): Router {
  const router = Router({ caseSensitive: true });
  const removers = new Map(Object.entries(own.remove ?? {}));
  const removeOf = (request: Request) => removers.get(String(request.params.table))?.(request) ?? remove;
  const collection: Methods = {
    GET: (request, response) => answerList(deps, request, response, "address"),
    QUERY: (request, response) => answerList(deps, request, response, "body"),
    POST: async (request, response) =>
      respondCreated(
        response,
        String(request.params.table),
        await createAsked(loggingFor(deps, request), request),
      ),
    PATCH: async (request, response) => {
      const { parameters, isOn } = readCall(searchOf(request), ["filter"], ["dryRun"]);
      const wanted = manyOf(request, parameters, isOn("dryRun"));
      respondWithMany(response, await updateMany(loggingFor(deps, request), wanted, bodyOrNull(request)));
    },
    DELETE: async (request, response) => {
      const switches = ["dryRun", "permanent"] as const;
      const { parameters, isOn } = readCall(searchOf(request), ["filter", "deleted"], switches);
      const wanted = manyOf(request, parameters, isOn("dryRun"));
      const requestDeps = loggingFor(deps, request);
      const removed = await removeMany(requestDeps, wanted, isOn("permanent"), removeOf(request));
      respondWithMany(response, removed);
    },
  };
  const member: Methods = {
    GET: async (request, response) => {
      const parameters = readParameters(searchOf(request), [...SHAPE_PARAMETERS, "deleted"]);
      respondWithRecord(response, 200, await readOne(deps, { ...recordOf(request), parameters }));
    },
    PATCH: async (request, response) => {
      const parameters = readParameters(searchOf(request), SHAPE_PARAMETERS);
      const expected = expectedVersions(request.get("If-Match"));
      const wanted = { ...recordOf(request), parameters, body: bodyOrNull(request), expected };
      respondWithRecord(response, 200, await update(loggingFor(deps, request), wanted));
    },
    DELETE: async (request, response) => {
      const permanent = readCall(searchOf(request), [], ["permanent"]).isOn("permanent");
      const expected = expectedVersions(request.get("If-Match"));
      await removeOf(request)(loggingFor(deps, request), { ...recordOf(request), expected, permanent });
      respond(response, 200);
    },
  };
  router.all("/:table", ...jsonBody(bodyMaxBytes), dispatch(deps.gate, collection, own.collection));
  router.all("/:table/:id", ...jsonBody(bodyMaxBytes), dispatch(deps.gate, member, own.member));
  router
    .route("/:table/:id/restore")
    .post(...jsonBody(bodyMaxBytes), async (request, response) => {
      refuseOnceKey(request.get("Idempotency-Key"));
      requireNoBody(request, "a restore takes none; change the record by PATCH afterwards.");
      const parameters = readParameters(searchOf(request), SHAPE_PARAMETERS);
      const expected = expectedVersions(request.get("If-Match"));
      const wanted = { ...recordOf(request), parameters, expected };
      respondWithRecord(response, 200, await restore(loggingFor(deps, request), wanted));
    })
    .all(onlyMethods("POST"));
  return router;
}

/** The record that the path names, and who asks for it. */
function recordOf(request: Request): RecordCall {
  const { table, id } = request.params;
  const caller = callerOf(request);
  return { principal: caller.principal, caller, table: String(table), id: String(id) };
}

async function answerList(deps: RecordDeps, request: Request, response: Response, from: "address" | "body") {
  const search = searchOf(request);
  const parameters = from === "body" ? readQuery(search, bodyOrNull(request)) : readParameters(search);
  const table = String(request.params.table);
  const stop = stopOf(response);
  const wanted = { principal: principalOf(request), caller: callerOf(request), table, parameters };
  const { records, meta, file, bytesHeld } = await list(deps, wanted, stop);
  if (file === undefined) return respondWithList(response, records, meta, bytesHeld);
  const text = exportText(file.format, file.node, records);
  const named = { name: `${table}.${file.format}`, type: FILE_TYPES[file.format] };
  await respondWithFile(response, named, text, bytesHeld);
}

/** Is aborted when the client goes, or has gone already while it was looked up who asks. */
function stopOf(response: Response): Stop {
  const stop = new Stop();
  const leave = (): void => {
    if (!response.writableFinished) stop.abort(new AppError("BAD_REQUEST", "The client has gone."));
  };
  if (response.destroyed) leave();
  else response.once("close", leave);
  return stop;
}

/** @throws AppError 400 */
function manyOf(request: Request, parameters: Parameters, dryRun: boolean): ManyRequest {
  if (request.get("If-Match") !== undefined)
    throw new AppError(
      "BAD_REQUEST",
      "If-Match: names the version of one record; leave it out where many are changed.",
    );
  const table = String(request.params.table);
  return { caller: callerOf(request), table, parameters, dryRun };
}

function respondWithMany(response: Response, { matched, changed }: Many): void {
  response.json(success(200, undefined, { matched, changed }));
}
