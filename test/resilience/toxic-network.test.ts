// R6, K4, K5: a bad network between the services. Every answer says what it is, writes are neither lost nor doubled,
// and nothing of it stays.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openHandles } from "../support/process-facts.js";
import { until } from "../support/wait.js";
import { percentile, startLoad, tally } from "./support/load.js";
import {
  expectHonest,
  expectWritten,
  isLong,
  type NotesSystem,
  readsAndCreates,
  size,
  startNotesSystem,
} from "./support/notes-system.js";
import type { Toxic } from "./support/toxic-proxy.js";

const RATE = size(20, 100);
const DURATION_MS = size(1_500, 60_000);
/** An idle connection of the gateway's pool lives for thirty seconds. */
const POOL_EMPTY_MS = 45_000;
const MINUTES = 60_000;

const TOXICS: readonly (readonly [name: string, toxic: Toxic])[] = [
  ["a second of latency", { kind: "latency", ms: 1_000 }],
  ["10 KB a second", { kind: "bandwidth", bytesPerSecond: 10_000 }],
  ["pieces of five bytes", { kind: "slicer", bytes: 5 }],
  ["a reset before the first byte of an answer", { kind: "reset", afterBytes: 0 }],
  ["a reset in the head of an answer", { kind: "reset", afterBytes: 100 }],
  ["a reset in the body of an answer", { kind: "reset", afterBytes: 700 }],
  ["an end in the head of an answer", { kind: "limit", afterBytes: 100 }],
  ["an end in the body of an answer", { kind: "limit", afterBytes: 700 }],
  ["silence for a second, then the end", { kind: "timeout", ms: 1_000 }],
  ["ends that come late", { kind: "slowClose", ms: 500 }],
];

let system: NotesSystem;

beforeAll(async () => {
  system = await startNotesSystem();
});

afterAll(() => system.stop());

describe("between gateway and data service", () => {
  it.each(TOXICS)(
    "%s: honest answers, no write lost or doubled, and afterwards all is well",
    async (name, toxic) => {
      const prefix = `${toxic.kind}${"afterBytes" in toxic ? toxic.afterBytes : ""}`;
      const { send, acknowledged } = readsAndCreates(system, prefix);
      system.proxy.set(toxic);
      const load = startLoad(RATE, send);
      await new Promise((resolve) => setTimeout(resolve, DURATION_MS));
      const outcomes = await load.stop();
      system.proxy.set({ kind: "none" });
      if (isLong) console.log(name, tally(outcomes), "p99", percentile(outcomes, 0.99));
      expect(outcomes.length).toBeGreaterThan(0);
      expectHonest(outcomes, "afterBytes" in toxic);
      await expectWritten(system, prefix, acknowledged);
      // Connections that were spoiled may still be in the gateway's pool; a read is repeated, a write is not.
      await until(
        () => system.client.post("/notes", { key: "after" }),
        ({ ended }) => ended === 201,
        10_000,
      );
      expect((await system.client.ask("GET", "/notes?limit=1")).ended).toBe(200);
    },
    size(1, 3) * MINUTES,
  );

  it(
    "no connection is left when they are over",
    async () => {
      system.client.close();
      expect(
        await until(
          async () => system.proxy.open(),
          (open) => open === 0,
          POOL_EMPTY_MS,
        ),
      ).toBe(0);
      const { pid = 0 } = system.stack.gateway.process;
      // What a process has open that has just started and was asked once.
      expect(await openHandles(pid)).toBeLessThan(60);
    },
    2 * MINUTES,
  );
});
