// What differs for `svc_table`: a record of it is a table, so making, changing and deleting a record does the same to the
// table.
import { AppError } from "@portico/shared/app-error";
import { onlyMethods } from "@portico/shared/only-methods";
import { type Request, type RequestHandler, type Response, Router } from "express";
import pLimit from "p-limit";
import type { Table } from "../catalog/catalog.js";
import { idProblem } from "../catalog/names.js";
import { idText } from "../catalog/record-ids.js";
import { systemTableNames } from "../catalog/system-tables.js";
import { callerOf, principalOf } from "../http/authenticate.js";
import { jsonBody } from "../http/json-body.js";
import { loggingFor } from "../http/logging-for.js";
import { bodyOrNull, requireNoBody, searchOf } from "../http/request-parts.js";
import { respond, respondCreated, respondWithRecord } from "../http/respond.js";
import type { OwnHandlers } from "../http/table-handlers.js";
import type { Action } from "../permission/rule.js";
import { readCall } from "../query/parameters.js";
import { actingFor } from "../records/acting-for.js";
import { findTable, parseId } from "../records/find-table.js";
import { recordShape } from "../records/read/read-one.js";
import type { RecordDeps } from "../records/record-deps.js";
import { expectedVersions } from "../records/version.js";
import { answerOf } from "../records/write/answer.js";
import { refuseOnceKey } from "../records/write/once.js";
import { within } from "../within.js";
import type { ChangeDeps } from "./change-deps.js";
import { changeTable, deleteTable, keptSince, undoChange } from "./change-table.js";
import { deletesEnded, type SchemaDeps } from "./create-table.js";
import { makeTable } from "./make-table.js";
import type { Started } from "./run-change.js";

type Deps = SchemaDeps &
  RecordDeps &
  ChangeDeps & {
    /** How long an answer waits for a change; one that takes longer continues, and the record shows how far it has come. */
    readonly changeWaitMs: number;
  };

/** The handlers of the table of tables. */
export function schemaHandlers(deps: Deps): OwnHandlers {
  const { tables: name } = systemTableNames(deps.systemTablePrefix);
  // Each change builds on the one before; many at once would only get in each other's way.
  const queue = pLimit(1);
  return {
    collection: {
      [name]: {
        PATCH: null,
        DELETE: null,
        POST: async (request, response) => {
          refuseOnceKey(request.get("Idempotency-Key"));
          const { table, shape } = await wish(deps, request, "create", []);
          const requestDeps = loggingFor(deps, request);
          const id = await queue(async () => {
            // The others before it may have taken long.
            await callerOf(request).now();
            await wish(deps, request, "create", []);
            return makeTable(askingFor(requestDeps, request), bodyOrNull(request));
          });
          await deletesEnded(requestDeps, id);
          const records = await answerOf(deps, shape, [parseId(table, id)]);
          respondCreated(response, name, { records, ids: [id] });
        },
      },
    },
    member: {
      [name]: {
        PATCH: async (request, response) => {
          const expected = expectedVersions(request.get("If-Match"));
          const requestDeps = loggingFor(deps, request);
          const change = (id: string, confirmed?: string) =>
            changeTable(askingFor(requestDeps, request), id, bodyOrNull(request), confirmed, expected);
          await answerChange(requestDeps, request, response, ["confirm"], change);
        },
        DELETE: async (request, response) => {
          const began = performance.now();
          const requestDeps = loggingFor(deps, request);
          const expected = expectedVersions(request.get("If-Match"));
          const { table, confirmed } = await wish(deps, request, "delete", ["confirm"]);
          const id = tableId(table, request);
          const asking = askingFor(requestDeps, request);
          const started = await deleteTable(asking, id, confirmed, expected);
          const isDone = await inTime(started, requestDeps, id, began);
          respond(response, isDone ? 200 : 202);
        },
      },
    },
  };
}

/** `POST /svc_table/{id}/undo`; and the refusal of a name in the place of the id, whatever is asked of a table. */
export function schemaRoutes(deps: Deps, bodyMaxBytes: number): Router {
  const router = Router({ caseSensitive: true });
  const { tables } = systemTableNames(deps.systemTablePrefix);
  router.use(`/${tables}/:id`, refuseNames(deps));
  router
    .route(`/${tables}/:id/undo`)
    .post(...jsonBody(bodyMaxBytes), async (request, response) => {
      refuseOnceKey(request.get("Idempotency-Key"));
      requireNoBody(request, "an undo takes none; change the table by PATCH afterwards.");
      const requestDeps = loggingFor(deps, request);
      const expected = expectedVersions(request.get("If-Match"));
      const undo = (id: string) => undoChange(askingFor(requestDeps, request), id, expected);
      await answerChange(requestDeps, request, response, [], undo);
    })
    .all(onlyMethods("POST"));
  return router;
}

/** What asks who the request comes from once its change has its turn. */
function askingFor(deps: Deps, request: Request): Deps {
  return actingFor(deps, principalOf(request), callerOf(request));
}

/** The record after the change, or 202 with how far the change has come. */
async function answerChange(
  deps: Deps,
  request: Request,
  response: Response,
  own: readonly "confirm"[],
  change: (id: string, confirmed?: string) => Promise<Started>,
): Promise<void> {
  const began = performance.now();
  const { table, shape, confirmed } = await wish(deps, request, "update", own);
  const id = tableId(table, request);
  const isDone = await inTime(await change(id, confirmed), deps, id, began);
  const [changed] = await answerOf(deps, shape, [parseId(table, id)]);
  if (changed === undefined) throw new Error("an answer without its record");
  respondWithRecord(response, isDone ? 200 : 202, changed);
}

const LOOKS_LIKE_ID = /^[0-9a-f]{24}$/i;

/** For root admins, who may know of every table. The word of a call, such as `changes`, is no name here. */
function refuseNames(deps: ChangeDeps): RequestHandler {
  return async (request, _response, next) => {
    const text = String(request.params.id);
    const isName = !LOOKS_LIKE_ID.test(text) && idProblem(text) === undefined;
    const principal = principalOf(request);
    const isRoot = principal.kind === "user" && principal.isRootAdmin;
    if (isName && isRoot && request.method !== "OPTIONS") throw await nameRefused(deps, text);
    next();
  };
}

/** A 404 with the right id, and those that nothing else shows any more. */
async function nameRefused(deps: ChangeDeps, name: string): Promise<AppError> {
  const named = (await deps.catalogs.get()).tables.get(name);
  if (named?.system)
    return new AppError("NOT_FOUND", `"${name}" is a table of Portico itself; it stays as it is.`);
  const whose = named === undefined ? "" : ` That of "${name}" is ${named.id}.`;
  const deleted = await deps.changes.deletedAs(name, keptSince(deps.clock.now()));
  const former =
    deleted.length === 0
      ? ""
      : ` Of deleted tables called "${name}" an undo brings back ${deleted.join(", ")}.`;
  return new AppError("NOT_FOUND", `Tables are addressed by their id, not by their name.${whose}${former}`);
}

/** The id in the path, as definitions write it. @throws AppError 404 */
function tableId(ofTables: Table, request: Request): string {
  return idText(ofTables, parseId(ofTables, String(request.params.id)));
}

/**
 * The table of tables and the shape of the answer, for callers who may do this; and the hash with which the client confirms
 * a destructive change.
 */
async function wish(deps: Deps, request: Request, action: Action, own: readonly "confirm"[]) {
  const rights = await deps.rights(principalOf(request));
  const allowed = action === "delete" ? [] : (["fields"] as const);
  const { parameters, textOf } = readCall(searchOf(request), allowed, own);
  return deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, systemTableNames(deps.systemTablePrefix).tables);
    rights.require(catalog, table, action);
    const shape = recordShape(deps, rights.view(catalog), table, parameters);
    return { table, shape, confirmed: textOf("confirm") };
  });
}

/** Waits for an accepted change, but not forever. @param began when the request came @returns whether it is done */
async function inTime(
  { done, change }: Started,
  { logger, changeWaitMs }: Deps,
  table: string,
  began: number,
): Promise<boolean> {
  const isDone = await within(changeWaitMs - (performance.now() - began), done);
  const note = (err: unknown): void => logger.error({ err, table, change }, "a change of a table has failed");
  if (!isDone) done.catch(note);
  return isDone;
}
