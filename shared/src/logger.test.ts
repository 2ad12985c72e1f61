// Logs by their level, of a process whose reader has gone, and of errors that carry what somebody has stored.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { LaterChild, type Logger } from "./logger.js";

const LOGGER = new URL("./logger.js", import.meta.url).href;

/** Logs more than a pipe holds, and ends well when its standard input does. */
const TALKS = `
  import { makeLogger } from "${LOGGER}";
  const logger = makeLogger("test", "info");
  for (let line = 0; line < 100; line += 1) logger.info({ line: "y".repeat(7_000) }, "a line");
  process.stdin.on("end", () => process.exit(0)).resume();
  process.send("logged");
`;

it("a process ends, though nobody reads the last lines of its log any more", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", TALKS], {
    stdio: ["pipe", "pipe", "ignore", "ipc"],
  });
  try {
    const ended = once(child, "exit");
    await once(child, "message");
    child.stdout?.destroy();
    child.stdin?.end();
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
  }
});

it("a process goes on and ends well, though its log can't be written, as on a full disk", async () => {
  const full = await open("/dev/full", "w");
  const child = spawn(process.execPath, ["--input-type=module", "--eval", TALKS], {
    stdio: ["pipe", full.fd, "pipe", "ipc"],
  });
  await full.close();
  try {
    const [errors, ended] = [child.stderr?.toArray(), once(child, "exit")];
    await once(child, "message");
    // Its lines have failed by then.
    await delay(200);
    child.stdin?.end();
    expect([await ended, (await errors)?.join("")]).toEqual([[0, null], ""]);
  } finally {
    child.kill("SIGKILL");
  }
});

/** @returns what a logger of a level writes, of a line of each of two levels */
async function written(level: string): Promise<string[]> {
  const script = `
    import { makeLogger } from "${LOGGER}";
    const logger = makeLogger("test", "${level}");
    logger.info("of info");
    logger.error("of error");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = (await child.stdout.toArray()).join("").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line).message);
}

it.each([
  ["info", ["of info", "of error"]],
  ["warn", ["of error"]],
  ["silent", []],
])("a logger of the level %s writes no lines below it: %j", async (level, expected) => {
  expect(await written(level)).toEqual(expected);
});

/** As the driver's errors carry what was to be written. */
const FAILS = `
  import { makeLogger } from "${LOGGER}";
  const logger = makeLogger("test", "info");
  const error = Object.assign(new Error("it failed"), { writeErrors: [{ op: { iban: "DE00" } }] });
  logger.error({ err: error, correlationId: "c" }, "first");
  logger.child({}).error(error, "second");
`;

it("has of an error what it is, and not the documents that it carries", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", FAILS], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let log = "";
  child.stdout.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  await once(child, "close");
  expect(log.match(/"err":\{"type":"Error","message":"it failed","stack":"Error: it failed/g)).toHaveLength(
    2,
  );
  expect(log).not.toMatch(/iban|DE00|writeErrors/);
});

it("a child that is made later says what any child says, and is made with its first line, once", () => {
  const lines: unknown[][] = [];
  const made: object[] = [];
  const logs =
    (level: string) =>
    (...line: unknown[]) =>
      void lines.push([level, ...line]);
  const parent: Logger = {
    info: logs("info"),
    warn: logs("warn"),
    error: logs("error"),
    child(bindings) {
      made.push(bindings);
      return parent;
    },
  };
  const child = new LaterChild(parent, { correlationId: "c" });
  expect(made).toEqual([]);
  child.info({ a: 1 }, "one");
  child.warn({ b: 2 }, "two");
  child.error({ c: 3 }, "three");
  expect(lines).toEqual([
    ["info", { a: 1 }, "one"],
    ["warn", { b: 2 }, "two"],
    ["error", { c: 3 }, "three"],
  ]);
  expect(made).toEqual([{ correlationId: "c" }]);
});
