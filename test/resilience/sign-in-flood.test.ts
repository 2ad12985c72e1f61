// R18, G5: a flood of sign-ins. Hashing has its own bounded queue, so everybody who is signed in goes on working.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Client } from "./support/client.js";
import { percentile, startLoad, tally } from "./support/load.js";
import { isLong, type NotesSystem, size, startNotesSystem } from "./support/notes-system.js";

const FLOOD = 100;
const SECONDS = size(1, 60);
const RATE = size(10, 50);
/** The queue for hashing keeps nobody longer than three seconds; the processors may have more to do than that. */
const FLOODERS_PATIENCE_MS = size(40_000, 10_000);

let system: NotesSystem;

beforeAll(async () => {
  system = await startNotesSystem({ direct: true, env: { TRUST_PROXY: "loopback" } });
});

afterAll(() => system.stop());

/** Another account from another network each time, or the limits of both would end the flood at once. */
function attempt(client: Client, at: number) {
  const address = `198.${18 + ((at >> 16) & 1)}.${(at >> 8) & 255}.${at & 255}`;
  return client.ask("POST", "/auth/login", {
    body: JSON.stringify({ email: `nobody${at}@example.com`, password: "a wrong password" }),
    headers: { "Content-Type": "application/json", "X-Forwarded-For": address },
  });
}

describe(`${FLOOD} sign-ins a second`, () => {
  it(
    "are refused or told to come back, and readers are served",
    async () => {
      const read = () => system.client.ask("GET", "/me");
      const quiet = startLoad(RATE, read);
      await new Promise((resolve) => setTimeout(resolve, size(500, 10_000)));
      const base = await quiet.stop();
      const flooder = new Client(`${system.stack.appUrl}/api`, {}, FLOODERS_PATIENCE_MS);
      const [flood, readers] = [startLoad(FLOOD, (at) => attempt(flooder, at)), startLoad(RATE, read)];
      await new Promise((resolve) => setTimeout(resolve, SECONDS * 1_000));
      const [attempts, reads] = await Promise.all([flood.stop(), readers.stop()]);
      flooder.close();
      if (isLong)
        console.log(
          tally(attempts),
          tally(reads),
          "p99 of reads before and during",
          percentile(base, 0.99),
          percentile(reads, 0.99),
        );
      expect(attempts.filter(({ isJson }) => !isJson).slice(0, 5)).toEqual([]);
      // Wrong; too many; too busy. Never a fault of ours, and nobody waits for ever.
      expect(attempts).not.toHaveLength(0);
      expect(["401", "429", "503"]).toEqual(expect.arrayContaining(Object.keys(tally(attempts))));
      expect(reads.filter(({ ended }) => ended !== 200 && ended !== 503).slice(0, 5)).toEqual([]);
      expect(tally(reads)[200]).toBeGreaterThan(0);
      // When it is over, the next one is judged again.
      const { ended } = await attempt(system.client, 70_000);
      expect(ended).toBe(401);
    },
    size(2, 5) * 60_000,
  );
});
