// What is worth remembering about sign-ins, and where it is written: for now, to the log.
import type { Logger } from "@portico/shared/logger";
import type { ClientFacts } from "./issue-session.js";

export type AuditEventName =
  | "oauth.sign-in"
  | "oauth.link"
  | "oauth.unlink"
  | "oauth.refused"
  | "bridge.replay";

export type AuditEvent = {
  readonly event: AuditEventName;
  readonly userId?: string;
  readonly details?: Readonly<Record<string, string>>;
};

export type Audit = { record(event: AuditEvent, client: ClientFacts): Promise<void> };

/** An audit that writes log lines. */
export function makeLogAudit(logger: Logger): Audit {
  return {
    async record({ event, userId, details }, { origin, address, userAgent }) {
      logger.info({ event, userId, details, origin, address, userAgent }, "audit");
    },
  };
}
