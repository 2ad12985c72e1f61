// Long runs: `node test/dist/oracle/run.js --runs 100000 --seed 7`. Ends with 1 when the service differs from the oracle.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import setUp from "../support/global-setup.js";
import tearDown from "../support/global-teardown.js";
import { describeFinding, run } from "./harness.js";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "2000" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    findings: { type: "string", default: "5" },
    /** Report differences as they are found, without making them small first. */
    "as-found": { type: "boolean", default: false },
  },
});
const [runs, seed, mostFindings] = [values.runs, values.seed, values.findings].map(Number);
if (![runs, seed, mostFindings].every(Number.isSafeInteger)) {
  console.error("usage: run.js [--runs N] [--seed S] [--findings N] [--as-found]");
  process.exit(2);
}
process.exitCode = await longRun(runs ?? 0, seed ?? 0, mostFindings ?? 0);

async function longRun(runs: number, seed: number, mostFindings: number): Promise<number> {
  console.log(`seed ${seed}, ${runs} requests`);
  await setUp();
  const started = performance.now();
  let reported = started;
  let known = 0;
  const { findings } = await run({
    runs,
    seed,
    mostFindings,
    asFound: values["as-found"],
    progress(done, found) {
      for (; known < found.length; known += 1) {
        const finding = found[known];
        if (finding !== undefined) console.log(describeFinding(finding));
      }
      const now = performance.now();
      if (now - reported < 10_000 && done < runs) return;
      reported = now;
      const rate = Math.round((done / (now - started)) * 1000);
      console.log(`${done} of ${runs} requests, ${rate} a second, ${found.length} differences, seed ${seed}`);
    },
  }).finally(tearDown);
  return findings.length === 0 ? 0 : 1;
}
