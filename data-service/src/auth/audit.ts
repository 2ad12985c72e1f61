// The audit log: who signed in, failed, changed a password, made a key, and from where (contract, section 8).
//
// It never holds a secret: no password, no token, and only a keyed digest of an address that nobody owns (see
// account-digest).
import type { Clock } from "@portico/shared/clock";
import type { Logger } from "@portico/shared/logger";
import { piecesOf } from "../pieces.js";
import type { RequireSpace } from "../space-check.js";
import type { ClientFacts } from "./client-facts.js";

/** Everything that is recorded. */
export const AUDIT_EVENTS = [
  "access.refused",
  "sign-in",
  "sign-in.failed",
  "sign-out",
  "session.ended",
  "refresh.reuse",
  "password.changed",
  "email.changed",
  "role.changed",
  "user.created",
  "user.activated",
  "user.deactivated",
  "user.deleted",
  "token.made",
  "token.revoked",
  "keys.rotated",
  "oauth.sign-in",
  "oauth.link",
  "oauth.unlink",
  "oauth.refused",
  "bridge.replay",
] as const;

export type AuditEventName = (typeof AUDIT_EVENTS)[number];

export type AuditEvent = {
  readonly event: AuditEventName;
  /** The user it is about. */
  readonly userId?: string;
  /** Further facts, none of them secret. */
  readonly details?: Readonly<Record<string, string>>;
};

export type Audit = {
  /** Writes it to the audit log and to the service's log. Never throws: no request fails because of auditing. */
  record(event: AuditEvent, client: ClientFacts): Promise<void>;
};

export type AuditLog = Audit & {
  /** Records everything that one request has done, which may concern very many users. */
  recordAll(events: readonly AuditEvent[], client: ClientFacts): Promise<void>;
};

/** An event with its circumstances, as it is stored. */
export interface AuditEntry extends AuditEvent {
  readonly at: Date;
  readonly client: ClientFacts;
}

/** So many events are told before others get a turn: a role that is deleted may have a hundred thousand members. */
const AT_ONCE = 500;

export interface AuditDeps {
  readonly entries: { append(entries: readonly AuditEntry[]): Promise<void> };
  /** Undefined where the database looks after its disk itself. */
  readonly requireSpace: RequireSpace | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function makeAudit({ entries, requireSpace, clock, logger }: AuditDeps): AuditLog {
  const keep = async (all: readonly AuditEntry[]): Promise<void> => {
    // What is left of a full disk is for sign-ins and the like, and a refusal can be asked for in a loop.
    if (all.every(({ event }) => event === "access.refused")) await requireSpace?.();
    await entries.append(all);
  };
  const recordSome: AuditLog["recordAll"] = async (events, client) => {
    const { correlationId, address, origin } = client;
    for (const event of events) logger.info({ ...event, correlationId, address, origin }, "audit");
    const at = clock.now();
    await keep(events.map((event) => ({ ...event, at, client }))).catch((err: unknown) => {
      logger.error({ correlationId, event: events[0]?.event, err }, "audit entry not kept");
    });
  };
  const recordAll: AuditLog["recordAll"] = async (events, client) => {
    for (const some of piecesOf(events, AT_ONCE)) await recordSome(some, client);
  };
  return { recordAll, record: (event, client) => recordSome([event], client) };
}
