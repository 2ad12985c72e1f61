// The routes of every table: /{table} and /{table}/{id}.
import { AppError } from "@portico/shared/app-error";
import { success } from "@portico/shared/envelope";
import type { Json } from "@portico/shared/json";
import { notAllowed, onlyMethods } from "@portico/shared/only-methods";
import { isSafe } from "@portico/shared/safe-methods";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { callerOf, principalOf } from "../http/authenticate.js";
import { bodyOf, jsonBody } from "../http/json-body.js";
import { respond, respondWithFile, respondWithList } from "../http/respond.js";
import {
  PARAMETERS,
  type Parameters,
  parametersOfBody,
  readCall,
  readParameters,
} from "../query/parameters.js";
import { Stop } from "../stop.js";
import { exportText, FILE_TYPES } from "../transfer/write-export.js";
import { remove } from "./delete/remove.js";
import { restore } from "./delete/restore.js";
import { list } from "./read/list.js";
import { readOne } from "./read/read-one.js";
import type { RecordDeps } from "./record-deps.js";
import type { RecordCall } from "./request.js";
import { etagOf, expectedVersions, type Versioned } from "./version.js";
import { type Created, create } from "./write/create.js";
import { type Many, type ManyRequest, removeMany, updateMany } from "./write/many.js";
import { onceKey, refuseOnceKey } from "./write/once.js";
import { update } from "./write/update.js";

/** Parameters that shape a single record. */
const SHAPE = ["fields", "deep"] as const;

type Handler = (request: Request, response: Response) => Promise<void>;
type Methods = Readonly<Record<string, Handler>>;

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
      respondCreated(response, String(request.params.table), await createAsked(deps, request)),
    PATCH: async (request, response) => {
      const { parameters, isOn } = readCall(searchOf(request), ["filter"], ["dryRun"]);
      const wanted = manyOf(request, parameters, isOn("dryRun"));
      respondWithMany(response, await updateMany(deps, wanted, body(request)));
    },
    DELETE: async (request, response) => {
      const own = ["dryRun", "permanent"] as const;
      const { parameters, isOn } = readCall(searchOf(request), ["filter", "deleted"], own);
      const wanted = manyOf(request, parameters, isOn("dryRun"));
      const removed = await removeMany(deps, wanted, isOn("permanent"), removeOf(request));
      respondWithMany(response, removed);
    },
  };
  const member: Methods = {
    GET: async (request, response) => {
      const parameters = readParameters(searchOf(request), [...SHAPE, "deleted"]);
      respondWithRecord(response, 200, await readOne(deps, { ...recordOf(request), parameters }));
    },
    PATCH: async (request, response) => {
      const parameters = readParameters(searchOf(request), SHAPE);
      const expected = expectedVersions(request.get("If-Match"));
      const wanted = { ...recordOf(request), parameters, body: body(request), expected };
      respondWithRecord(response, 200, await update(deps, wanted));
    },
    DELETE: async (request, response) => {
      const permanent = readCall(searchOf(request), [], ["permanent"]).isOn("permanent");
      const expected = expectedVersions(request.get("If-Match"));
      await removeOf(request)(deps, { ...recordOf(request), expected, permanent });
      respond(response, 200);
    },
  };
  router.all("/:table", ...jsonBody(bodyMaxBytes), dispatch(deps, collection, own.collection));
  router.all("/:table/:id", ...jsonBody(bodyMaxBytes), dispatch(deps, member, own.member));
  router
    .route("/:table/:id/restore")
    .post(async (request, response) => {
      refuseOnceKey(request.get("Idempotency-Key"));
      const parameters = readParameters(searchOf(request), SHAPE);
      respondWithRecord(response, 200, await restore(deps, { ...recordOf(request), parameters }));
    })
    .all(onlyMethods("POST"));
  return router;
}

/** Handlers by table and method that differ from everyone's. */
export interface OwnHandlers {
  readonly collection: Readonly<Record<string, Partial<Record<string, Handler | null>>>>;
  readonly member: Readonly<Record<string, Partial<Record<string, Handler | null>>>>;
  /** What a request deletes a record with, one by one or by a filter. */
  readonly remove?: Readonly<Record<string, (request: Request) => typeof remove>>;
}

function dispatch({ gate }: RecordDeps, common: Methods, own: OwnHandlers["collection"]): RequestHandler {
  const everyones = methodsOf(common);
  const special = new Map(
    Object.entries(own).map(([table, methods]) => [table, methodsOf({ ...common, ...methods })]),
  );
  return async (request, response) => {
    const methods = special.get(String(request.params.table)) ?? everyones;
    const method = request.method === "HEAD" ? "GET" : request.method;
    const handler = methods.get(method);
    // A stop waits also for what follows a write, such as its entry in the audit log.
    if (handler)
      return isSafe(method) ? handler(request, response) : gate.hold(() => handler(request, response));
    const allowed = [...methods.keys(), "HEAD", "OPTIONS"];
    if (method !== "OPTIONS") throw notAllowed(request.method, allowed);
    if (methods.has("QUERY")) response.set("Accept-Query", "application/json");
    response.status(204).set("Allow", allowed.join(", ")).end();
  };
}

function methodsOf(handlers: OwnHandlers["collection"][string]): ReadonlyMap<string, Handler> {
  return new Map(
    Object.entries(handlers).flatMap(([method, handler]): [string, Handler][] =>
      handler ? [[method, handler]] : [],
    ),
  );
}

/** The raw text behind `?`: decoding it is the query language's business. */
export function searchOf(request: Request): string {
  const at = request.originalUrl.indexOf("?");
  return at < 0 ? "" : request.originalUrl.slice(at + 1);
}

/** The record that the path names, and who asks for it. */
function recordOf(request: Request): RecordCall {
  const { table, id } = request.params;
  return { principal: principalOf(request), table: String(table), id: String(id) };
}

/** A missing body is no object, which is what the check will say. */
export function body(request: Request): Json {
  return bodyOf(request) ?? null;
}

async function answerList(deps: RecordDeps, request: Request, response: Response, from: "address" | "body") {
  const address = readParameters(searchOf(request), from === "address" ? PARAMETERS : []);
  const parameters = from === "address" ? address : parametersOfBody(body(request));
  const table = String(request.params.table);
  const stop = new Stop();
  response.once("close", () => {
    if (!response.writableFinished) stop.abort(new AppError("BAD_REQUEST", "The client has gone."));
  });
  const { records, meta, file } = await list(deps, principalOf(request), table, parameters, {
    stop,
    caller: callerOf(request),
  });
  if (file === undefined) return respondWithList(response, records, meta);
  const text = exportText(file.format, file.node, records);
  await respondWithFile(response, { name: `${table}.${file.format}`, type: FILE_TYPES[file.format] }, text);
}

/** Makes what a POST of records asks for. */
export async function createAsked(deps: RecordDeps, request: Request): Promise<Created> {
  const table = String(request.params.table);
  const [principal, search] = [principalOf(request), searchOf(request)];
  const parameters = readParameters(search, SHAPE);
  const asked = [table, search, body(request)];
  const key = onceKey(request.get("Idempotency-Key"), principal, asked, deps.once.digest);
  return create(deps, { principal, table, parameters, body: body(request), key });
}

/** @throws AppError 400 */
function manyOf(request: Request, parameters: Parameters, dryRun: boolean): ManyRequest {
  if (request.get("If-Match") !== undefined)
    throw new AppError("BAD_REQUEST", "If-Match: speaks of one record; leave it out of changes of many.");
  const table = String(request.params.table);
  return { caller: callerOf(request), table, parameters, dryRun };
}

function respondWithMany(response: Response, { matched, changed }: Many): void {
  response.json(success(200, undefined, { matched, changed }));
}

/** 201, with the address of the record when there is one of it. */
export function respondCreated(
  response: Response,
  table: string,
  { records, ids }: Pick<Created, "records" | "ids">,
): void {
  const [record] = records;
  if (ids.length === 1) response.location(`/api/${table}/${encodeURIComponent(String(ids[0]))}`);
  if (ids.length === 1 && record !== undefined) respondWithRecord(response, 201, record);
  else
    respond(
      response,
      201,
      records.map(({ json }) => json),
    );
}

/** Answers with one record and its ETag; a GET that has it already is answered 304. */
export function respondWithRecord(response: Response, status: number, record: Versioned): void {
  response.set("ETag", etagOf(record));
  respond(response, status, [record.json]);
}
