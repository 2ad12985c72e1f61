// R6, R17, R1: a database that is slow, frozen, or killed under load. Every answer says what it is, no acknowledged
// write is lost, none is doubled, and all is well as soon as the database is.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "../support/wait.js";
import { Client } from "./support/client.js";
import { percentile, startLoad, tally } from "./support/load.js";
import {
  expectHonest,
  expectWritten,
  isLong,
  type NotesSystem,
  RECOVERY_MS,
  readsAndCreates,
  size,
  startNotesSystem,
} from "./support/notes-system.js";
import { type OwnEngine, startOwnEngine } from "./support/own-engine.js";
import type { Toxic } from "./support/toxic-proxy.js";

const RATE = size(15, 100);
const DURATION_MS = size(1_500, 60_000);
const FROZEN_MS = size(2_000, 15_000);
const CRASHES = size(1, 20);
/** A request waits for the database as long as the gateway waits for the data service, and no longer. */
const PATIENCE_MS = 35_000;
const MINUTES = 60_000;

const TOXICS: readonly (readonly [name: string, toxic: Toxic])[] = [
  ["half a second of latency", { kind: "latency", ms: 500 }],
  ["100 KB a second", { kind: "bandwidth", bytesPerSecond: 100_000 }],
  ["pieces of twenty bytes", { kind: "slicer", bytes: 20 }],
  ["a reset in an answer", { kind: "reset", afterBytes: 2_000 }],
  ["an end in an answer", { kind: "limit", afterBytes: 2_000 }],
  ["silence, then the end", { kind: "timeout", ms: 1_000 }],
];

let engine: OwnEngine;
let system: NotesSystem;
let client: Client;

beforeAll(async () => {
  engine = await startOwnEngine();
  system = await startNotesSystem({ direct: true, mongodbUrl: engine.mongodbUrl });
  const headers = { Authorization: system.authorization };
  client = new Client(`${system.stack.appUrl}/api`, headers, PATIENCE_MS);
});

afterAll(async () => {
  client.close();
  await system.stop();
  await engine.stop();
});

/** Writes succeed again. */
const healed = () =>
  until(
    () => client.post("/notes", { key: "healed" }),
    ({ ended }) => ended === 201,
    30_000,
  );

/**
 * @param disturb gets the keys of acknowledged writes, which become more
 * @returns how soon after it the next create succeeded, in milliseconds
 */
async function underLoad(
  name: string,
  disturb: (acknowledged: ReadonlySet<string>) => Promise<void>,
): Promise<number> {
  const { send, acknowledged } = readsAndCreates({ client, noteId: system.noteId }, name);
  const load = startLoad(RATE, send);
  await disturb(acknowledged);
  const began = performance.now();
  await healed();
  const recovery = performance.now() - began;
  const outcomes = await load.stop();
  if (isLong)
    console.log(name, tally(outcomes), "p99", percentile(outcomes, 0.99), "good again after ms", recovery);
  expectHonest(outcomes);
  await expectWritten(system, name, acknowledged);
  return recovery;
}

describe("between data service and database", () => {
  it.each(TOXICS)(
    "%s: honest answers, no write lost or doubled, and afterwards all is well",
    (_name, toxic) =>
      underLoad(toxic.kind, async () => {
        engine.proxy.set(toxic);
        await delay(DURATION_MS);
        engine.proxy.set({ kind: "none" });
      }),
    size(2, 4) * MINUTES,
  );
});

/** What probes hear from gateway and data service, who must not keep them waiting themselves. */
const readiness = () =>
  Promise.all(
    [system.stack.appUrl, system.stack.dataUrl].map(async (url) => {
      const { status } = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) });
      return status;
    }),
  );

describe("a database that stands still", () => {
  it(
    `for ${FROZEN_MS} ms keeps nobody longer, leaves no service ready, and what was answered is there`,
    () =>
      underLoad("frozen", async () => {
        await engine.freeze();
        const [ready] = await Promise.all([readiness(), delay(FROZEN_MS)]);
        engine.thaw();
        expect(ready).toEqual([503, 503]);
        await until(readiness, (statuses) => statuses.every((status) => status === 200), 30_000);
      }),
    3 * MINUTES,
  );
});

describe("kill -9 of the database under load", () => {
  it(
    `${CRASHES} times loses no acknowledged write, and the data service finds it again by itself`,
    async () => {
      for (let round = 0; round < CRASHES; round += 1) {
        const recovery = await underLoad(`crash${round}`, async (acknowledged) => {
          // With none there would be none to lose.
          await until(
            () => acknowledged.size,
            (count) => count >= 10,
            MINUTES,
          );
          await engine.crash();
        });
        expect(recovery).toBeLessThan(RECOVERY_MS);
      }
    },
    size(2, 20) * MINUTES,
  );
});
