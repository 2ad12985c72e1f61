// What a process says and does when its start or its stop goes wrong, or when it is stopped before it is ready.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "@jest/globals";

let child: ChildProcess | undefined;
afterEach(() => void child?.kill("SIGKILL"));

/** Runs a service that starts as this says. */
function run(start: string) {
  const program = `
    import { runService } from "${new URL("./run-service.js", import.meta.url).href}";
    const failure = Object.assign(new Error('index: email_1 dup key: { email: "ann@example.com" }'), { code: 11000 });
    await runService(async (whenStopped) => { ${start} });
  `;
  const started = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  child = started;
  let errors = "";
  started.stderr?.on("data", (data) => {
    errors += data;
  });
  return {
    child: started,
    told: once(started, "message"),
    ended: once(started, "close"),
    errors: () => errors,
  };
}

/** Nothing else keeps such a process alive, as a server would. */
const LIVES = "setInterval(() => {}, 1_000);";

describe("a start that fails", () => {
  it("is told with its place, but without what the database quotes", async () => {
    const { told, errors, ended } = run("throw failure;");
    const said = expect.stringMatching(/^Error: index: email_1 dup key: \{…\}\n +at /);
    expect(await told).toEqual([{ type: "refused", problems: [said] }, undefined]);
    expect(await ended).toEqual([1, null]);
    expect(errors()).toEqual(said);
  });
});

describe("a stop that fails", () => {
  it("says why, without what the database quotes", async () => {
    const { child, told, errors, ended } = run(
      `${LIVES} return { url: "http://127.0.0.1", stop: () => Promise.reject(failure) };`,
    );
    await told;
    child.kill("SIGTERM");
    expect(await ended).toEqual([1, null]);
    expect(errors()).toMatch(
      /^The service did not stop cleanly: Error: index: email_1 dup key: \{…\}\n +at /,
    );
  });
});

describe("a process that is still starting", () => {
  it("lets go first of what it has opened, which then fails its start without a word", async () => {
    const { child, told, ended, errors } = run(`
      ${LIVES}
      let fail;
      const closed = new Promise((_, reject) => (fail = reject));
      whenStopped(async () => {
        fail(failure);
        await new Promise((resolve) => setTimeout(resolve, 200));
        process.stderr.write("closed");
      });
      process.send("starting");
      await closed;
    `);
    await told;
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(errors()).toBe("closed");
  });

  it.each([
    ["at once on a second signal", "", [1, null], ""],
    // Its whole group may have been told, and it by its launcher again.
    ["in its time where it has a launcher", 'process.env.PORTICO_LAUNCHED = "1";', [0, null], "closed"],
  ] as const)("that lets go of something ends %s", async (_when, before, end, said) => {
    const { child, told, ended, errors } = run(`
      ${before} ${LIVES}
      whenStopped(async () => {
        process.send("closing");
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        process.stderr.write("closed");
      });
      process.send("starting");
      await new Promise(() => {});
    `);
    await told;
    const closing = once(child, "message");
    child.kill("SIGTERM");
    await closing;
    child.kill("SIGTERM");
    expect(await ended).toEqual(end);
    expect(errors()).toBe(said);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("ends well on %s", async (signal) => {
    const { child, told, ended } = run(`process.send("starting"); ${LIVES} await new Promise(() => {});`);
    await told;
    child.kill(signal);
    expect(await ended).toEqual([0, null]);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("stops once it is ready, after a %s before", async (signal) => {
    // Busy, so that the signal waits until the start is over.
    const { child, told, ended, errors } = run(`
      ${LIVES}
      process.send("starting");
      for (const end = Date.now() + 1_000; Date.now() < end; );
      return { url: "http://127.0.0.1", stop: async () => void process.stderr.write("stopped") };
    `);
    await told;
    child.kill(signal);
    expect(await ended).toEqual([0, null]);
    expect(errors()).toBe("stopped");
  });
});
