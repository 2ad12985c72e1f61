// What the audit log says of a change that the database has not confirmed.
import { mayStillBeDone, throwUnanswered } from "../records/whole/uncertain.js";
import type { AuditEvent, AuditLog } from "./audit.js";
import type { ClientFacts } from "./client-facts.js";

/**
 * Makes a change that the audit log tells of. Where nobody knows whether it was made, its events are told all the same, marked
 * `uncertain`, as is the refusal: it may be there, and then nothing else would tell of it. What is known to be made is the
 * caller's to tell.
 * @param events asked for only then
 * @param isUncertain of what it threw, where more than the write itself may go unanswered
 * @throws AppError 503 `uncertain` then
 */
export async function tellingUncertain<Result>(
  { audit, client }: { readonly audit: Pick<AuditLog, "recordAll">; readonly client: ClientFacts },
  events: () => readonly AuditEvent[],
  change: () => Promise<Result>,
  isUncertain: (error: unknown) => boolean = mayStillBeDone,
): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    if (!isUncertain(error)) throw error;
    const told = events().map((each) => ({ ...each, details: { ...each.details, uncertain: "true" } }));
    await audit.recordAll(told, client);
    throwUnanswered(error);
  }
}
