// What differs for `svc_table`: a record of it is a table, so making, changing and deleting one does so with the table.
import { AppError } from "@portico/shared/app-error";
import { onlyMethods } from "@portico/shared/only-methods";
import { type Request, type Response, Router } from "express";
import { principalOf } from "../http/authenticate.js";
import { respond } from "../http/respond.js";
import type { Action } from "../permission/rule.js";
import { readCall } from "../query/parameters.js";
import type { RecordDeps } from "../records/deps.js";
import { findTable, parseId } from "../records/find-table.js";
import { refuseOnceKey } from "../records/once.js";
import { readEach, readShaped, recordShape } from "../records/read-one.js";
import { body, type OwnHandlers, respondCreated, searchOf } from "../records/routes.js";
import type { ChangeDeps } from "./change-deps.js";
import { changeTable, deleteTable, undoChange } from "./change-table.js";
import type { SchemaDeps } from "./create-table.js";
import { makeTable } from "./make-table.js";
import { oneAtATime } from "./one-at-a-time.js";
import type { Started } from "./run-change.js";

type Deps = SchemaDeps &
  RecordDeps &
  ChangeDeps & {
    /** How long an answer waits for a change; one that takes longer goes on, and the record shows how far it is. */
    readonly changeWaitMs: number;
  };

/** The handlers of the table of tables. */
export function schemaHandlers(deps: Deps): OwnHandlers {
  const name = `${deps.systemTablePrefix}table`;
  // Each change builds on the one before; many at once would only get in each other's way.
  const queue = oneAtATime();
  return {
    collection: {
      [name]: {
        ...{ PATCH: null, DELETE: null },
        POST: async (request, response) => {
          refuseOnceKey(request.get("Idempotency-Key"));
          const { table, shape } = await wish(deps, request, "create", []);
          const id = await queue(() => makeTable(deps, body(request)));
          const made = await readEach(deps, shape, [parseId(table, id)]);
          respondCreated(
            response,
            name,
            made.filter((each) => each !== undefined),
            [id],
          );
        },
      },
    },
    member: {
      [name]: {
        PATCH: async (request, response) => {
          refuseIfMatch(request);
          const change = (id: string, confirmed?: string) => changeTable(deps, id, body(request), confirmed);
          await answerChange(deps, request, response, ["confirm"], change);
        },
        DELETE: async (request, response) => {
          const began = performance.now();
          refuseIfMatch(request);
          const { confirmed } = await wish(deps, request, "delete", ["confirm"]);
          const id = String(request.params.id).toLowerCase();
          const isDone = await within(await deleteTable(deps, id, confirmed), deps, began);
          respond(response, isDone ? 200 : 202);
        },
      },
    },
  };
}

/** Changes of tables build on each other under a lock, and are confirmed by the hash of what they would lose. */
function refuseIfMatch(request: Request): void {
  if (request.get("If-Match") !== undefined)
    throw new AppError("BAD_REQUEST", "If-Match: tables have no versions; leave it out.");
}

/** `POST /svc_table/{id}/undo` */
export function schemaRoutes(deps: Deps): Router {
  const router = Router({ caseSensitive: true });
  router
    .route(`/${deps.systemTablePrefix}table/:id/undo`)
    .post(async (request, response) => {
      await answerChange(deps, request, response, [], (id) => undoChange(deps, id));
    })
    .all(onlyMethods("POST"));
  return router;
}

/** The record as it is after the change, or 202 with how far the change is. */
async function answerChange(
  deps: Deps,
  request: Request,
  response: Response,
  own: readonly "confirm"[],
  change: (id: string, confirmed?: string) => Promise<Started>,
): Promise<void> {
  const began = performance.now();
  const { table, shape, confirmed } = await wish(deps, request, "update", own);
  const id = parseId(table, String(request.params.id));
  const started = await change(String(request.params.id).toLowerCase(), confirmed);
  const isDone = await within(started, deps, began);
  respond(response, isDone ? 200 : 202, await readShaped(deps, shape, [id]));
}

/**
 * The table of tables and the shape of the answer, for those who may do this; and the hash that the client confirms a
 * destructive change with.
 */
async function wish(deps: Deps, request: Request, action: Action, own: readonly "confirm"[]) {
  const rights = await deps.rights(principalOf(request));
  const allowed = action === "delete" ? [] : (["fields"] as const);
  const { parameters, textOf } = readCall(searchOf(request), allowed, own);
  return deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, `${deps.systemTablePrefix}table`);
    rights.require(catalog, table, action);
    const shape = recordShape(deps, rights, table, catalog, parameters);
    return { table, shape, confirmed: textOf("confirm") };
  });
}

/** Waits for an accepted change, but not for ever. @param began when the request came @returns whether it is done */
async function within({ done }: Started, { logger, changeWaitMs }: Deps, began: number): Promise<boolean> {
  const left = Math.max(0, changeWaitMs - (performance.now() - began));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, left, false);
  });
  try {
    const isDone = await Promise.race([done.then(() => true), late]);
    if (!isDone)
      done.catch((error: unknown) => logger.error({ err: error }, "a change of a table has failed"));
    return isDone;
  } finally {
    clearTimeout(timer);
  }
}
