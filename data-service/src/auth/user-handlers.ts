// What differs for `svc_user` and `svc_role`: changes of passwords, roles and accounts go into the audit log.
import type { Request, Response } from "express";
import { requireField } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import { idsOf, idText } from "../catalog/record-ids.js";
import { callerOf, principalOf } from "../http/authenticate.js";
import { loggingFor } from "../http/logging-for.js";
import { bodyOrNull, searchOf } from "../http/request-parts.js";
import { respond, respondCreated, respondWithRecord } from "../http/respond.js";
import type { OwnHandlers } from "../http/table-handlers.js";
import { readParameters, SHAPE_PARAMETERS } from "../query/parameters.js";
import { createAsked } from "../records/create-handler.js";
import { type RemoveRequest, remove } from "../records/delete/remove.js";
import { findTable, parseId } from "../records/find-table.js";
import type { RecordDeps } from "../records/record-deps.js";
import { expectedVersions } from "../records/version.js";
import { saysUncertain } from "../records/whole/uncertain.js";
import type { AuditEvent, AuditLog } from "./audit.js";
import { changeAccount } from "./change-account.js";
import { auditFacts } from "./client-facts.js";
import { tellingUncertain } from "./telling-uncertain.js";

type Deps = RecordDeps & { readonly audit: AuditLog };

/**
 * @param table name of the users' table
 * @param roles name of the roles' table
 */
export function userHandlers(deps: Deps, table: string, roles: string): OwnHandlers {
  return {
    // One by one, so that each change appears in the audit log.
    collection: {
      [table]: {
        POST: (request, response) => createUsers(loggingFor(deps, request), table, request, response),
        PATCH: null,
        DELETE: null,
      },
    },
    member: {
      [table]: {
        PATCH: (request, response) => updateUser(loggingFor(deps, request), table, request, response),
        DELETE: (request, response) => removeUser(loggingFor(deps, request), table, request, response),
      },
    },
    // Whoever has the role loses it.
    remove: {
      [roles]: (request) => (given, removal) =>
        removeRole({ ...given, audit: deps.audit }, table, request, removal),
    },
  };
}

async function createUsers(deps: Deps, table: string, request: Request, response: Response): Promise<void> {
  // Their ids are not known then.
  const unsure: AuditEvent[] = [{ event: "user.created", details: actorOf(request) }];
  const created = await orUncertain(deps, request, unsure, () => createAsked(deps, request));
  if (!created.isRepeat)
    await record(deps, request, await madeEvents(deps, table, created.ids, actorOf(request)));
  respondCreated(response, table, created);
}

async function updateUser(deps: Deps, table: string, request: Request, response: Response): Promise<void> {
  const parameters = readParameters(searchOf(request), SHAPE_PARAMETERS);
  const [id, expected] = [String(request.params.id), expectedVersions(request.get("If-Match"))];
  const caller = callerOf(request);
  const asked = { principal: caller.principal, caller, table, id };
  const wanted = { ...asked, parameters, body: bodyOrNull(request), expected };
  const user = await changeAccount(deps, wanted, actorOf(request), auditFacts(request));
  respondWithRecord(response, 200, user);
}

async function removeUser(deps: Deps, table: string, request: Request, response: Response): Promise<void> {
  readParameters(searchOf(request), []);
  const [id, expected] = [String(request.params.id), expectedVersions(request.get("If-Match"))];
  const caller = callerOf(request);
  const events: AuditEvent[] = [{ event: "user.deleted", userId: id, details: actorOf(request) }];
  await orUncertain(deps, request, events, () =>
    remove(deps, { principal: caller.principal, caller, table, id, expected }),
  );
  await record(deps, request, events);
  respond(response, 200);
}

async function removeRole(
  deps: Deps,
  users: string,
  request: Request,
  removal: RemoveRequest,
): Promise<void> {
  const { principal, id } = removal;
  // Nobody else may delete a role, and a refusal must not make us read all users first.
  if (principal.kind !== "user" || !principal.isRootAdmin) return remove(deps, removal);
  const holders = await holdersOf(deps, users, id);
  const details = { ...actorOf(request), role: "null" };
  const events = holders.map((userId): AuditEvent => ({ event: "role.changed", userId, details }));
  await orUncertain(deps, request, events, () => remove(deps, removal));
  await record(deps, request, events);
}

function orUncertain<Result>(
  { audit }: Deps,
  request: Request,
  events: readonly AuditEvent[],
  change: () => Promise<Result>,
): Promise<Result> {
  // Before it writes it asks who the caller is, and what they may.
  return tellingUncertain({ audit, client: auditFacts(request) }, () => events, change, saysUncertain);
}

function record({ audit }: Deps, request: Request, events: readonly AuditEvent[]): Promise<void> {
  return audit.recordAll(events, auditFacts(request));
}

function actorOf(request: Request): Readonly<Record<string, string>> {
  const principal = principalOf(request);
  return principal.kind === "user" ? { by: principal.userId } : {};
}

/**
 * New users, and the rights they were given. They exist already: a failure to find out more about them must not fail the
 * request.
 */
async function madeEvents(
  deps: RecordDeps,
  usersTable: string,
  ids: readonly string[],
  by: Readonly<Record<string, string>>,
): Promise<AuditEvent[]> {
  const powers = await powersOf(deps, usersTable, ids).catch(() => undefined);
  return ids.map((userId) => ({
    event: "user.created",
    userId,
    details: { ...by, ...powers?.get(userId) },
  }));
}

/** What users may do, by their ids. */
async function powersOf(
  deps: RecordDeps,
  usersTable: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  const users = findTable(await deps.catalogs.get(), usersTable);
  const roleField = requireField(users, "role");
  const rootField = requireField(users, "isRootAdmin");
  const stored = ids.map((id) => parseId(users, id));
  const found = await deps.store.byIds(users, stored, { [roleField]: 1, [rootField]: 1 });
  return new Map(
    found.map(({ _id, [roleField]: role, [rootField]: isRootAdmin }) => [
      idText(users, _id),
      {
        ...(role === undefined || role === null ? {} : { role: String(role) }),
        ...(isRootAdmin === true ? { isRootAdmin: "true" } : {}),
      },
    ]),
  );
}

/** The users who have a role. */
async function holdersOf(deps: RecordDeps, usersTable: string, role: string): Promise<string[]> {
  const users = findTable(await deps.catalogs.get(), usersTable);
  const { idColumn, relations } = users;
  const id = COLUMN_TYPES[idColumn.type].parse(role, []);
  const field = relations.get("role")?.link.field;
  if (id === undefined || field === undefined) return [];
  const found = await deps.store.read(users, [{ $match: { [field]: id } }, { $project: { _id: 1 } }]);
  return idsOf(users, found).map((each) => idText(users, each));
}
