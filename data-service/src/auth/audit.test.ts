// How entries of the audit log are written: few writes, whatever one request has done.
import { setImmediate } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { makeLogger } from "@portico/shared/logger";
import { type AuditEntry, type AuditEvent, type AuditLog, makeAudit } from "./audit.js";

const CLIENT = { correlationId: "c", address: "192.0.2.1", origin: null, userAgent: null };
const NOW = new Date();

function auditWith(entries: { append(some: readonly AuditEntry[]): Promise<void> }): AuditLog {
  const logger = makeLogger("test", "silent");
  return makeAudit({ entries, requireSpace: undefined, clock: { now: () => NOW }, logger });
}

it("what one request has done to many users is kept by one write, and one event as one", async () => {
  const writes: (readonly AuditEntry[])[] = [];
  const audit = auditWith({ append: async (some) => void writes.push(some) });
  const events = ["a", "b", "c"].map((userId): AuditEvent => ({ event: "role.changed", userId }));
  await audit.recordAll(events, CLIENT);
  await audit.record({ event: "sign-out" }, CLIENT);
  expect(writes).toEqual([
    events.map((event) => ({ ...event, at: NOW, client: CLIENT })),
    [{ event: "sign-out", at: NOW, client: CLIENT }],
  ]);
});

it("others get a turn while what was done to thousands of users is kept", async () => {
  const written: number[] = [];
  const append = async (some: readonly AuditEntry[]): Promise<void> => {
    written.push(some.length);
    await setImmediate();
  };
  const events = Array.from({ length: 1_200 }, (): AuditEvent => ({ event: "role.changed" }));
  const keeping = auditWith({ append }).recordAll(events, CLIENT);
  await setImmediate();
  expect(written.length).toBeLessThan(3);
  await keeping;
  expect(written).toEqual([500, 500, 200]);
});
