// A change that was made to a user -> what the audit log says about it. Pure.
import { fieldNamed } from "../catalog/catalog.js";
import type { PlannedChange } from "../records/write/update.js";
import type { AuditEvent } from "./audit.js";

/** Members whose former values are needed. A password is not among them: it is a new one or taken away, whatever it was. */
export const COMPARED = ["email", "role", "isRootAdmin", "isActive"];

/** An event of the user who was changed. */
export type AccountEvent = Pick<AuditEvent, "event" | "details">;

/**
 * What the audit log says of a user who was changed, with the members of COMPARED compared.
 * @param by who did it
 */
export function eventsOfChange(
  change: PlannedChange,
  userId: string,
  by: Readonly<Record<string, string>>,
): AuditEvent[] {
  return accountEvents(change).map(({ event, details }) => ({
    event,
    userId,
    details: { ...by, ...details },
  }));
}

/**
 * Only for values that really changed, whether they came from the body or from a rule: forms send unchanged values along.
 */
export function accountEvents(change: PlannedChange): AccountEvent[] {
  const [role, isRootAdmin, isActive] = ["role", "isRootAdmin", "isActive"].map((name) =>
    newText(change, name),
  );
  const power = {
    ...(role === undefined ? {} : { role }),
    ...(isRootAdmin === undefined ? {} : { isRootAdmin }),
  };
  const told: readonly (AccountEvent | false)[] = [
    isWritten(change, "password") && { event: "password.changed" },
    newText(change, "email") !== undefined && { event: "email.changed" },
    Object.keys(power).length > 0 && { event: "role.changed", details: power },
    isActive === "true" && { event: "user.activated" },
    isActive === "false" && { event: "user.deactivated" },
  ];
  return told.filter((event) => event !== false);
}

function isWritten({ table, written: { set, unset } }: PlannedChange, name: string): boolean {
  const field = fieldNamed(table, name) ?? name;
  return set.has(field) || unset.includes(field);
}

/** A member's new value as text; undefined when it has not changed. */
function newText(
  { table, before, written: { set, unset } }: PlannedChange,
  name: string,
): string | undefined {
  const field = fieldNamed(table, name) ?? name;
  const now = set.has(field) ? String(set.get(field)) : unset.includes(field) ? "null" : undefined;
  return now === String(before[field] ?? null) ? undefined : now;
}
