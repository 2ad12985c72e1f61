// How entries of the audit log are written: few writes, whatever one request has done.
import { expect, it } from "@jest/globals";
import { makeLogger } from "@portico/shared/logger";
import { type AuditEntry, type AuditEvent, makeAudit } from "./audit.js";

const CLIENT = { correlationId: "c", address: "192.0.2.1", origin: null, userAgent: null };
const NOW = new Date();

it("what one request has done to many users is kept by one write, and one event as one", async () => {
  const writes: (readonly AuditEntry[])[] = [];
  const entries = { append: async (some: readonly AuditEntry[]) => void writes.push(some) };
  const logger = makeLogger("test", "silent");
  const audit = makeAudit({ entries, requireSpace: undefined, clock: { now: () => NOW }, logger });
  const events = ["a", "b", "c"].map((userId): AuditEvent => ({ event: "role.changed", userId }));
  await audit.recordAll(events, CLIENT);
  await audit.record({ event: "sign-out" }, CLIENT);
  expect(writes).toEqual([
    events.map((event) => ({ ...event, at: NOW, client: CLIENT })),
    [{ event: "sign-out", at: NOW, client: CLIENT }],
  ]);
});
