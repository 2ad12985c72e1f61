// Entries that a client can cause in a loop are written once a minute.
import { describe, expect, it } from "@jest/globals";
import { auditOnceAMinute } from "./audit-once-a-minute.js";
import { memoryAudit } from "./auth-fixture.js";

const CLIENT = { origin: null, userAgent: "test", address: "127.0.0.1" };

describe("what can be asked in a loop", () => {
  it("is written once a minute, and each other thing for itself", async () => {
    let time = Date.parse("2026-01-01T12:00:00.000Z");
    const { audit, events } = memoryAudit();
    const record = auditOnceAMinute(audit, { now: () => new Date(time) });
    const note = (event: "bridge.replay" | "oauth.refused", same: string) =>
      record(same, { event, details: { same } }, CLIENT);
    await Promise.all([note("bridge.replay", "a"), note("bridge.replay", "a"), note("bridge.replay", "b")]);
    await note("oauth.refused", "a");
    time += 59_999;
    await note("bridge.replay", "a");
    const all = () => events.map(({ event, details }) => `${event} ${details?.same}`);
    expect(all()).toEqual(["bridge.replay a", "bridge.replay b", "oauth.refused a"]);
    time += 2;
    await note("bridge.replay", "a");
    expect(all().slice(3)).toEqual(["bridge.replay a"]);
  });
});
