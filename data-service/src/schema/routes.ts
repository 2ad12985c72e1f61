// What differs for `svc_table`: a record of it is a table, so making, changing and deleting one does so with the table.
import { AppError } from "@portico/shared/app-error";
import { onlyMethods } from "@portico/shared/only-methods";
import { type Request, type Response, Router } from "express";
import { principalOf } from "../http/authenticate.js";
import { respond } from "../http/respond.js";
import type { Action } from "../permission/rule.js";
import { readParameters } from "../query/parameters.js";
import type { RecordDeps } from "../records/deps.js";
import { findTable, parseId } from "../records/find-table.js";
import { readEach, readShaped, recordShape } from "../records/read-one.js";
import { body, type OwnHandlers, respondCreated, searchOf } from "../records/routes.js";
import type { ChangeDeps } from "./change-deps.js";
import { changeTable, deleteTable, undoChange } from "./change-table.js";
import { createTable, type SchemaDeps } from "./create-table.js";
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
          const { table, shape } = await wish(deps, request, "create");
          const id = await queue(() => createTable(deps, body(request)));
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
          const confirmed = confirmation(request);
          const change = (id: string) => changeTable(deps, id, body(request), confirmed);
          await answerChange(deps, request, response, change);
        },
        DELETE: async (request, response) => {
          const began = performance.now();
          refuseIfMatch(request);
          await wish(deps, request, "delete");
          const id = String(request.params.id).toLowerCase();
          const isDone = await within(await deleteTable(deps, id, confirmation(request)), deps, began);
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
      await answerChange(deps, request, response, (id) => undoChange(deps, id));
    })
    .all(onlyMethods("POST"));
  return router;
}

/** The record as it is after the change, or 202 with how far the change is. */
async function answerChange(
  deps: Deps,
  request: Request,
  response: Response,
  change: (id: string) => Promise<Started>,
): Promise<void> {
  const began = performance.now();
  const { table, shape } = await wish(deps, request, "update");
  const id = parseId(table, String(request.params.id));
  const isDone = await within(await change(String(request.params.id).toLowerCase()), deps, began);
  respond(response, isDone ? 200 : 202, await readShaped(deps, shape, [id]));
}

/** The table of tables and the shape of the answer, for those who may do this. */
async function wish(deps: Deps, request: Request, action: Action) {
  const rights = await deps.rights(principalOf(request));
  const parameters = readParameters(searchOf(request), action === "delete" ? [] : ["fields"]);
  return deps.catalogs.decide((catalog) => {
    const table = findTable(catalog, `${deps.systemTablePrefix}table`);
    rights.require(catalog, table, action);
    return { table, shape: recordShape(deps, rights, table, catalog, parameters) };
  });
}

/** The hash that the client confirms a destructive change with. */
function confirmation(request: Request): string | undefined {
  return new URLSearchParams(searchOf(request)).get("confirm") ?? undefined;
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
