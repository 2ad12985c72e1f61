// What the unit tests of auth/ share: a throttle that admits everything, and an audit log in memory.
import type { Audit, AuditEvent } from "./audit.js";
import type { Throttle } from "./throttle.js";

/** Refuses nothing. */
export const openThrottle: Throttle = {
  admitSignIn: async () => ({ succeeded: async () => {}, withdraw: async () => {} }),
  admitRefresh: async () => {},
  admitOAuthStart: async () => {},
  admitRequest: async () => {},
};

/** Keeps what is recorded. */
export function memoryAudit(): { readonly audit: Audit; readonly events: AuditEvent[] } {
  const events: AuditEvent[] = [];
  return { events, audit: { record: async (event) => void events.push(event) } };
}
