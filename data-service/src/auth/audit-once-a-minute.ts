// For events that a client can cause in a loop: each instance writes the same entry at most once a minute, so that the log
// is not flooded.
import type { Clock } from "@portico/shared/clock";
import { agingCache } from "./aging-cache.js";
import type { Audit, AuditEvent } from "./audit.js";
import type { ClientFacts } from "./client-facts.js";

const MINUTE_MS = 60_000;
const MAX_REMEMBERED = 10_000;

/** @param same two events with the same text are the same to a reader of the log */
export type RecordOnceAMinute = (same: string, event: AuditEvent, client: ClientFacts) => Promise<void>;

export function auditOnceAMinute(audit: Audit, clock?: Clock): RecordOnceAMinute {
  const written = agingCache<true>({ max: MAX_REMEMBERED, ttlMs: MINUTE_MS, ...(clock && { clock }) });
  return async (same, event, client) => {
    const key = `${event.event} ${same}`;
    if (written.has(key)) return;
    written.set(key, true);
    await audit.record(event, client);
  };
}
