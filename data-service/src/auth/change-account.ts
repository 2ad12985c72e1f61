// Changes a user, and tells the audit log what of the account was changed.
import type { RecordDeps } from "../records/record-deps.js";
import type { Versioned } from "../records/version.js";
import { saysUncertain } from "../records/whole/uncertain.js";
import { type UpdateRequest, update } from "../records/write/update.js";
import { COMPARED, eventsOfChange } from "./account-events.js";
import type { AuditEvent, AuditLog } from "./audit.js";
import type { ClientFacts } from "./client-facts.js";
import { tellingUncertain } from "./telling-uncertain.js";

/** @param by who does it, as the audit log's details say it */
export async function changeAccount(
  deps: RecordDeps & { readonly audit: AuditLog },
  request: Omit<UpdateRequest, "compared">,
  by: Readonly<Record<string, string>>,
  client: ClientFacts,
): Promise<Versioned> {
  let events: readonly AuditEvent[] = [];
  const compared: UpdateRequest["compared"] = {
    members: COMPARED,
    beforeWrite: (change) => {
      events = eventsOfChange(change, request.id, by);
    },
  };
  const change = () => update(deps, { ...request, compared });
  const user = await tellingUncertain({ audit: deps.audit, client }, () => events, change, saysUncertain);
  await deps.audit.recordAll(events, client);
  return user;
}
