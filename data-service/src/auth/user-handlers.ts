// What differs for `svc_user` and `svc_role`: changes of passwords, roles and accounts go into the audit log.
import type { Request } from "express";
import { fieldNamed, requireField, type Table } from "../catalog/catalog.js";
import { COLUMN_TYPES } from "../catalog/column-types.js";
import { principalOf } from "../http/authenticate.js";
import { body, searchOf } from "../http/request-parts.js";
import { respond, respondCreated, respondWithRecord } from "../http/respond.js";
import type { OwnHandlers } from "../http/table-handlers.js";
import { idsOf, idText } from "../mongo/record-store.js";
import { stillHas } from "../query/as-read.js";
import { readParameters, SHAPE_PARAMETERS } from "../query/parameters.js";
import type { StoredRecord } from "../query/shape.js";
import type { OwnFields } from "../records/body/write-plan.js";
import { remove } from "../records/delete/remove.js";
import { findTable, parseId } from "../records/find-table.js";
import type { RecordDeps } from "../records/record-deps.js";
import { expectedVersions } from "../records/version.js";
import { createAsked } from "../records/write/create-asked.js";
import { type UpdateRequest, update } from "../records/write/update.js";
import type { AuditEvent, AuditLog } from "./audit.js";
import { auditFacts } from "./client-facts.js";

/**
 * @param table name of the users' table
 * @param roles name of the roles' table
 */
export function userHandlers(
  deps: RecordDeps & { readonly audit: AuditLog },
  table: string,
  roles: string,
): OwnHandlers {
  const record = (request: Request, events: readonly AuditEvent[]): Promise<void> =>
    deps.audit.recordAll(events, auditFacts(request));
  return {
    // One by one, so that each change is in the audit log.
    collection: {
      [table]: {
        POST: async (request, response) => {
          const created = await createAsked(deps, request);
          const by = actorOf(request);
          if (!created.isRepeat) await record(request, await madeEvents(deps, table, created.ids, by));
          respondCreated(response, table, created);
        },
        PATCH: null,
        DELETE: null,
      },
    },
    member: {
      [table]: {
        PATCH: async (request, response) => {
          const principal = principalOf(request);
          const parameters = readParameters(searchOf(request), SHAPE_PARAMETERS);
          const id = String(request.params.id);
          const expected = expectedVersions(request.get("If-Match"));
          let former: StoredRecord = {};
          let events: readonly AuditEvent[] = [];
          // What is compared and what is written are one.
          const guard: UpdateRequest["guard"] = async (userId) => {
            const users = findTable(await deps.catalogs.get(), table);
            const fields = AUDITED.map((name) => requireField(users, name));
            const shown = Object.fromEntries(fields.map((field) => [field, 1]));
            [former = {}] = await deps.store.byIds(users, [userId], shown);
            return former._id === undefined ? {} : stillHas(former, fields);
          };
          const onWritten: UpdateRequest["onWritten"] = (users, own) => {
            events = eventsOf(users, former, own, id, actorOf(request));
          };
          const wanted = {
            principal,
            table,
            id,
            parameters,
            body: body(request),
            expected,
            guard,
            onWritten,
          };
          const user = await update(deps, wanted);
          await record(request, events);
          respondWithRecord(response, 200, user);
        },
        DELETE: async (request, response) => {
          readParameters(searchOf(request), []);
          const id = String(request.params.id);
          const expected = expectedVersions(request.get("If-Match"));
          await remove(deps, { principal: principalOf(request), table, id, expected });
          await record(request, [{ event: "user.deleted", userId: id, details: actorOf(request) }]);
          respond(response, 200);
        },
      },
    },
    remove: {
      // It is taken from whoever has it.
      [roles]: (request) => async (given, removal) => {
        const { principal, id } = removal;
        // Nobody else may delete one, and whoever is refused must not make us read all users first.
        if (principal.kind !== "user" || !principal.isRootAdmin) return remove(given, removal);
        const holders = await holdersOf(given, table, id);
        await remove(given, removal);
        const details = { ...actorOf(request), role: "null" };
        await record(
          request,
          holders.map((userId) => ({ event: "role.changed", userId, details })),
        );
      },
    },
  };
}

function actorOf(request: Request): Readonly<Record<string, string>> {
  const principal = principalOf(request);
  return principal.kind === "user" ? { by: principal.userId } : {};
}

/** Members of a user whose changes are recorded, but for the password, which is a new one whatever it is. */
const AUDITED = ["email", "role", "isRootAdmin", "isActive"];

/**
 * The events of a change that was made, whether its values came from the body or from a rule: forms send along what stays
 * as it is. The password is not looked at.
 * @param former the user before, as far as it is compared
 */
function eventsOf(
  table: Table,
  former: StoredRecord,
  { set, unset }: OwnFields,
  userId: string,
  by: Readonly<Record<string, string>>,
): AuditEvent[] {
  const written = (name: string): string | undefined => {
    const field = fieldNamed(table, name) ?? name;
    const now = set.has(field) ? String(set.get(field)) : unset.includes(field) ? "null" : undefined;
    return now === String(former[field] ?? null) ? undefined : now;
  };
  const [role, isRootAdmin, isActive] = ["role", "isRootAdmin", "isActive"].map(written);
  const power = {
    ...(role === undefined ? {} : { role }),
    ...(isRootAdmin === undefined ? {} : { isRootAdmin }),
  };
  const told: readonly (AuditEvent | false)[] = [
    written("password") !== undefined && { event: "password.changed", userId, details: by },
    written("email") !== undefined && { event: "email.changed", userId, details: by },
    Object.keys(power).length > 0 && { event: "role.changed", userId, details: { ...by, ...power } },
    isActive === "true" && { event: "user.activated", userId, details: by },
    isActive === "false" && { event: "user.deactivated", userId, details: by },
  ];
  return told.filter((event) => event !== false);
}

/** New users, and what power they were given. They are there: no failure to tell more of them is one of the request. */
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
