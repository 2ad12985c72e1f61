// Long runs: `node test/dist/rights/run.js --pairs 5000 --seed 7`. Ends with 1 when an answer told something.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import setUp from "../support/global-setup.js";
import tearDown from "../support/global-teardown.js";
import { describeLeak, run } from "./non-interference.js";

const { values } = parseArgs({
  options: {
    pairs: { type: "string", default: "5000" },
    seed: { type: "string", default: String(randomInt(2 ** 30)) },
  },
});
const [pairs, seed] = [Number(values.pairs), Number(values.seed)];
if (!Number.isSafeInteger(pairs) || !Number.isSafeInteger(seed)) {
  console.error("usage: run.js [--pairs N] [--seed S]");
  process.exit(2);
}
console.log(`seed ${seed}, ${pairs} pairs`);
await setUp();
const { leaks } = await run({
  pairs,
  seed,
  progress: (done, found) => console.log(`${done} of ${pairs} pairs, ${found.length} leaks, seed ${seed}`),
}).finally(tearDown);
for (const leak of leaks) console.log(describeLeak(leak));
process.exitCode = leaks.length === 0 ? 0 : 1;
