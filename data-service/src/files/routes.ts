// The routes of files besides those of every table: uploads, assets, the tree of folders, and emptying a folder.
import { AppError, isConflict } from "@portico/shared/app-error";
import { isObject, type JsonObject } from "@portico/shared/json";
import { onlyMethods } from "@portico/shared/only-methods";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { callerOf } from "../http/authenticate.js";
import { loggingFor } from "../http/logging-for.js";
import { isMultipart, searchOf } from "../http/request-parts.js";
import { respond, respondCreated, respondWithRecord } from "../http/respond.js";
import { readCall, readParameters, SHAPE_PARAMETERS } from "../query/parameters.js";
import type { Follow } from "../records/delete/delete-effects.js";
import { remove } from "../records/delete/remove.js";
import { list } from "../records/read/list.js";
import { withoutMaxLimit } from "../records/record-deps.js";
import { expectedVersions } from "../records/version.js";
import { refuseOnceKey } from "../records/write/once.js";
import type { FileDeps } from "./deps.js";
import { download } from "./download.js";
import { flatFolders, folderTree } from "./folder-tree.js";
import { type Exchange, replace, upload } from "./upload.js";

/** All of them are held at once. */
const MOST_IN_TREE = 20_000;

/** Mount it before the routes of every table: bodies here are not JSON. */
export function fileRoutes(deps: FileDeps): Router {
  const { files, folders } = deps.fileTables;
  const router = Router({ caseSensitive: true });
  router
    .route("/assets/:id")
    .get((request, response) => download(deps, request, response))
    .all(onlyMethods("GET", "HEAD"));
  router
    .route(`/${files}`)
    .post(unlessOverridden, async (request, response) => {
      if (!isMultipart(request))
        throw new AppError("UNSUPPORTED_MEDIA_TYPE", "Send the file as multipart/form-data.");
      refuseOnceKey(request.get("Idempotency-Key"));
      respondCreated(response, files, await upload(loggingFor(deps, request), exchangeOf(request, response)));
    })
    .all(passOn);
  router
    .route(`/${files}/:id`)
    .patch(async (request, response, next) => {
      if (!isMultipart(request)) return next();
      const id = String(request.params.id);
      const file = await replace(loggingFor(deps, request), id, exchangeOf(request, response));
      respondWithRecord(response, 200, file);
    })
    .all(passOn);
  router
    .route(`/${folders}/tree`)
    .get((request, response) => answerTree(deps, request, response))
    .all(onlyMethods("GET", "HEAD"));
  const folder = router.route(`/${folders}/:id`);
  folder.delete(async (request, response) => {
    await deps.requireSpace?.("deleting");
    const { isOn } = readCall(searchOf(request), [], ["recursive"]);
    const follows = isOn("recursive") ? insideFolders(deps) : undefined;
    const expected = expectedVersions(request.get("If-Match"));
    const [caller, id] = [callerOf(request), String(request.params.id)];
    const asked = { principal: caller.principal, caller, table: folders, id, expected, follows };
    await remove(loggingFor(deps, request), asked).catch((error: unknown) => {
      throw namingRecursive(deps, error);
    });
    respond(response, 200);
  });
  folder.all(passOn);
  return router;
}

/** Other methods are handled as for every table; without this Express would answer OPTIONS by itself. */
const passOn: RequestHandler = (_request, _response, next) => next();

/** A QUERY that was sent as POST (see http/method-override) is not for us. */
const unlessOverridden: RequestHandler = (request, _response, next) =>
  request.method === "POST" ? next() : next("route");

function exchangeOf(request: Request, response: Response): Exchange {
  const parameters = readParameters(searchOf(request), SHAPE_PARAMETERS);
  return { request, response, parameters };
}

function insideFolders({ fileTables }: FileDeps): Follow {
  return (owner, relation) => isInside(fileTables, owner.name, relation.name);
}

/** Does a link by this relation put its record into a folder? */
function isInside({ files, folders }: FileDeps["fileTables"], table: unknown, relation: unknown): boolean {
  return (table === files && relation === "folder") || (table === folders && relation === "parent");
}

/** The refusal of a folder that is not empty says how it goes all the same. */
function namingRecursive({ fileTables }: FileDeps, error: unknown): unknown {
  if (!isConflict(error) || !isInside(fileTables, error.details?.table, error.details?.relation))
    return error;
  const { code, violations, details, headers } = error;
  const message = violations.join(" ").replace(/\.$/, ", or send ?recursive=true.");
  return new AppError(code, { message, headers, ...(details && { details }), cause: error });
}

async function answerTree(deps: FileDeps, request: Request, response: Response): Promise<void> {
  const { isOn } = readCall(searchOf(request), [], ["flat"]);
  const parameters = readParameters(`limit=${MOST_IN_TREE + 1}`, ["limit"]);
  const caller = callerOf(request);
  const wanted = { principal: caller.principal, caller, table: deps.fileTables.folders, parameters };
  const { records } = await list(withoutMaxLimit(deps), wanted);
  const folders: JsonObject[] = [];
  for await (const some of records) folders.push(...some.filter(isObject));
  if (folders.length > MOST_IN_TREE) throw tooManyFolders(deps.fileTables.folders);
  respond(response, 200, isOn("flat") ? flatFolders(folders) : folderTree(folders));
}

function tooManyFolders(table: string): AppError {
  const remedy = `list them by GET /${table}, such as those of one "parent"`;
  return new AppError(
    "BAD_REQUEST",
    `There are more than ${MOST_IN_TREE} folders, too many for a tree; ${remedy}.`,
  );
}
