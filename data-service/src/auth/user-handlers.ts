// What differs for `svc_user`: changes of passwords, roles and accounts go into the audit log.
import type { Request } from "express";
import { principalOf } from "../http/authenticate.js";
import { respond } from "../http/respond.js";
import { isObject, type Json } from "../json.js";
import { readParameters } from "../query/parameters.js";
import type { RecordDeps } from "../records/deps.js";
import { remove } from "../records/remove.js";
import { body, type OwnHandlers, respondWithRecord, searchOf } from "../records/routes.js";
import { update } from "../records/update.js";
import { expectedVersions } from "../records/version.js";
import type { Audit, AuditEvent } from "./audit.js";
import { auditFacts } from "./client-facts.js";

/** @param table name of the users' table */
export function userHandlers(deps: RecordDeps & { readonly audit: Audit }, table: string): OwnHandlers {
  const record = async (request: Request, events: readonly AuditEvent[]): Promise<void> => {
    for (const event of events) await deps.audit.record(event, auditFacts(request));
  };
  return {
    // One by one, so that each change stands in the audit log.
    collection: { [table]: { PATCH: null, DELETE: null } },
    member: {
      [table]: {
        PATCH: async (request, response) => {
          const principal = principalOf(request);
          const parameters = readParameters(searchOf(request), ["fields", "deep"]);
          const [id, change] = [String(request.params.id), body(request)];
          const expected = expectedVersions(request.get("If-Match"));
          const user = await update(deps, principal, table, id, change, parameters, { expected });
          await record(request, eventsOf(change, id, actorOf(request)));
          respondWithRecord(response, 200, user);
        },
        DELETE: async (request, response) => {
          readParameters(searchOf(request), []);
          const id = String(request.params.id);
          const expected = expectedVersions(request.get("If-Match"));
          await remove(deps, principalOf(request), table, id, { expected });
          await record(request, [{ event: "user.deleted", userId: id, details: actorOf(request) }]);
          respond(response, 200);
        },
      },
    },
  };
}

function actorOf(request: Request): Readonly<Record<string, string>> {
  const principal = principalOf(request);
  return principal.kind === "user" ? { by: principal.userId } : {};
}

/** The events of an accepted change. The password itself is not looked at. */
function eventsOf(change: Json, userId: string, by: Readonly<Record<string, string>>): AuditEvent[] {
  if (!isObject(change)) return [];
  const { email, password, role, isRootAdmin, isActive } = change;
  const power = {
    ...(role === undefined ? {} : { role: typeof role === "string" ? role : JSON.stringify(role) }),
    ...(isRootAdmin === undefined ? {} : { isRootAdmin: String(isRootAdmin) }),
  };
  return [
    ...(password === undefined ? [] : [{ event: "password.changed", userId, details: by } as const]),
    ...(email === undefined ? [] : [{ event: "email.changed", userId, details: by } as const]),
    ...(Object.keys(power).length === 0
      ? []
      : [{ event: "role.changed", userId, details: { ...by, ...power } } as const]),
    ...(isActive === undefined
      ? []
      : [
          {
            event: isActive === true ? "user.activated" : "user.deactivated",
            userId,
            details: by,
          } as const,
        ]),
  ];
}
