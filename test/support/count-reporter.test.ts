// `npm test` tells by its exit code whether all is well, also where Jest never gets to say so.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { projectRoot } from "./run-state.js";

const REPORTER = join(projectRoot, "test/count-reporter.mjs");

/** Runs a process in which a reporter is told this, and which then has nothing left to wait for. */
function ended(told: string): [status: number | null, lastLine: string | undefined] {
  const program = `import CountReporter from ${JSON.stringify(REPORTER)};
    const reporter = new CountReporter();
    reporter.onRunStart();
    ${told}`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
  });
  return [status, stdout.trim().split("\n").at(-1)];
}

const complete = (passed: number, failed: number, broken: number): string =>
  `reporter.onRunComplete(new Set(), ${JSON.stringify({
    numPassedTests: passed,
    numFailedTests: failed,
    numRuntimeErrorTestSuites: broken,
  })});`;

it.each([
  ["all passed", complete(5, 0, 0), [0, "5 passed, 0 failed"]],
  ["one failed", complete(4, 1, 0), [1, "4 passed, 1 failed"]],
  ["a file could not run", complete(5, 0, 1), [1, "5 passed, 1 failed"]],
  ["the run did not come to its end", "", [1, "The run did not come to its end."]],
  ["something else went wrong", `${complete(5, 0, 0)} process.exitCode = 3;`, [3, "5 passed, 0 failed"]],
])("where %s", (_what, told, expected) => {
  expect(ended(told)).toEqual(expected);
});
