// The suites that must notice a fault in the compiler, run on a copy of the built project.
import { spawn } from "node:child_process";
import { join } from "node:path";

export interface Suite {
  readonly name: string;
  /** Arguments of node, in the copy's folder `test`. */
  readonly arguments: readonly string[];
  /** Runs only when no suite before has noticed. */
  readonly lastResort?: true;
}

const JEST = [
  "--experimental-vm-modules",
  "--disable-warning=ExperimentalWarning",
  "node_modules/jest/bin/jest.js",
];

/** The fixed seed makes a run repeatable; the number of runs is what finds every fault with some to spare. */
const [RUNS, SEED] = [2_100, 20_240_531];

export const SUITES: readonly Suite[] = [
  {
    name: "unit tests",
    arguments: [...JEST, "--bail", "--maxWorkers=2", "data-service/dist/(query|catalog|permission)/"],
  },
  {
    name: "oracle",
    arguments: [
      "dist/oracle/run.js",
      ...["--runs", String(RUNS), "--seed", String(SEED), "--findings", "1", "--as-found"],
    ],
  },
  { name: "planner", arguments: [...JEST, "--bail", "test/dist/plan/same-answers"], lastResort: true },
];

export interface Outcome {
  readonly passed: boolean;
  readonly seconds: number;
  readonly output: string;
}

/** Runs a suite to its end. */
export async function runSuite(copy: string, suite: Suite): Promise<Outcome> {
  const started = performance.now();
  const child = spawn(process.execPath, suite.arguments, {
    cwd: join(copy, "test"),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const code = await new Promise((resolve) => child.once("close", resolve));
  return { passed: code === 0, seconds: (performance.now() - started) / 1000, output };
}
