// What a terminal shows of a line of the log.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { projectRoot } from "../support/run-state.js";

const LOG_LINE = join(projectRoot, "scripts/log-line.mjs");

/** @returns it as it is shown, without the time of day */
function shown(line: object): string {
  const program = `
    import { readableLogLine } from ${JSON.stringify(LOG_LINE)};
    console.log(readableLogLine(${JSON.stringify(JSON.stringify(line))}));
  `;
  const args = ["--input-type=module", "--eval", program];
  return spawnSync(process.execPath, args, { encoding: "utf8" }).stdout.trimEnd();
}

const ABOUT = { service: "gateway", correlationId: "trace-1" };
const REQUEST = { method: "GET", path: "/api/posts", status: 200, ms: 3.1 };

describe("a line of the log in a terminal", () => {
  it.each([
    ["info", "request", "info  gateway      GET /api/posts 200 3.1 ms"],
    ["warn", "request cut off", "warn  gateway      request cut off GET /api/posts 200 3.1 ms [trace-1]"],
    ["error", "It failed.", "error gateway      It failed. GET /api/posts 200 3.1 ms [trace-1]"],
  ])("has the correlation id where something went wrong: %s", (level, message, expected) => {
    expect(shown({ ...ABOUT, ...REQUEST, level, message })).toBe(expected);
  });

  it("says what the audit log has recorded", () => {
    const line = { ...ABOUT, level: "info", message: "audit", event: "sign-in.failed" };
    expect(shown(line)).toBe("info  gateway      audit sign-in.failed");
  });
});
