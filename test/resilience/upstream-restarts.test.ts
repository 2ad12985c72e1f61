// R5, R2, K8: the data service is killed and stopped under load. Every answer says what it is, no write is lost or doubled.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "../support/wait.js";
import { startLoad, tally } from "./support/load.js";
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

const RATE = size(40, 300);
const RESTARTS = size(2, 30);
const PAUSE_MS = size(500, 5_000);

let system: NotesSystem;

beforeAll(async () => {
  system = await startNotesSystem({ direct: true });
});

afterAll(() => system.stop());

describe.each(["SIGKILL", "SIGTERM"] as const)("%s of the data service under load", (signal) => {
  it(
    "is answered with success or an honest JSON refusal, and loses and doubles no write",
    async () => {
      const { send, acknowledged } = readsAndCreates(system, signal);
      const load = startLoad(RATE, send);
      const recoveries: number[] = [];
      const good = (): number => load.outcomes.filter(({ ended }) => ended === 201).length;
      for (let round = 0; round < RESTARTS; round += 1) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        await system.stack.dataService.stop(signal);
        await system.stack.restartDataService();
        const [listening, before] = [performance.now(), good()];
        await until(
          async () => good(),
          (now) => now > before,
          RECOVERY_MS,
        );
        recoveries.push(performance.now() - listening);
      }
      const outcomes = await load.stop();
      if (isLong) console.log(signal, RATE, "a second", tally(outcomes), "good again after ms", recoveries);
      expectHonest(outcomes);
      expect(tally(outcomes)[502]).toBeGreaterThan(0);
      expect(acknowledged.size).toBeGreaterThan(RESTARTS);
      await expectWritten(system, signal, acknowledged);
      // What came after the last restart succeeded: nothing of the failure stays.
      const last = await system.client.ask("GET", "/notes?limit=1");
      expect([last.ended, last.isJson]).toEqual([200, true]);
    },
    size(2, 20) * 60_000,
  );
});
