// `npm start`'s launcher with small made-up services: order, banner, refusals, signals, and no orphans.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { readConfig } from "@portico/data-service/config";
import express from "express";
import { projectRoot } from "../support/run-state.js";
import { until } from "../support/wait.js";

const [LAUNCHER, RUN_SCRIPT] = ["launch.mjs", "run-script.mjs"].map(
  (name) => pathToFileURL(join(projectRoot, "scripts", name)).href,
);

/** A service's life in one line each; `note` writes to a shared file, so that order shows. */
const NOTE = `
  const { appendFileSync } = await import("node:fs");
  const note = (text) => appendFileSync(process.env.NOTES, text + "\\n");
  const name = process.argv[1].includes("gateway") ? "gateway" : "data service";
  note(name + " pid " + process.pid);
`;
/** What the gateway does first (settingsToBegin). */
const HELD = `
  await new Promise((resolve) => process.once("message", ({ env }) => resolve(Object.assign(process.env, env))));
`;
const READY = `${NOTE}
  process.send({ type: "store", description: "/data (fake)" });
  process.send({ type: "first-admin", email: "root@example.com", password: "one-time" });
  console.log(JSON.stringify({ level: "info", message: name + " log" }));
  const stop = () => setTimeout(() => { note(name + " stopped"); process.exit(0); }, 50);
  process.on("SIGTERM", stop);
  process.on("disconnect", stop);
  process.send({ type: "ready", url: "http://127.0.0.1:4001" });
`;
const DEAF = `${NOTE}
  process.on("SIGTERM", () => note(name + " ignores SIGTERM"));
  process.on("disconnect", () => process.exit(0));
  process.send({ type: "ready", url: "http://127.0.0.1:4001" });
`;
const REFUSES = `${NOTE}
  process.send({ type: "refused", problems: ["PORT must be a number.", "APP_URL must be an address."] });
  process.exitCode = 1;
  process.disconnect();
`;
const STOPS_BADLY = READY.replace("process.exit(0)", "process.exit(3)");
/** Says how it was asked to stop. */
const TELLS_WHY = `${NOTE}
  process.on("SIGTERM", () => { note(name + " got a signal"); process.exit(0); });
  process.on("disconnect", () => { note(name + " lost its channel"); process.exit(0); });
  process.send({ type: "ready", url: "http://127.0.0.1:4001" });
`;
const CRASHES = `${NOTE} process.send({ type: "ready", url: "x" }); setTimeout(() => process.exit(7), 300);`;
const NEVER_READY = `${NOTE} note("starting"); setInterval(() => {}, 1000);`;

interface Run {
  launcher: ChildProcess;
  out: () => string;
  errors: () => string;
  code: Promise<number | null>;
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portico-launcher-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it.each(["--help", "--port 4000", "-- --demo=off"])("npm start takes no words: %s", async (words) => {
  const child = spawn(process.execPath, [join(projectRoot, "scripts/start.mjs"), ...words.split(" ")], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: folder, PORT: "none" },
  });
  const errors = collect(child.stderr);
  const [code] = await once(child, "close");
  expect([code, errors()]).toEqual([2, expect.stringMatching(/^npm start takes no words: .*PORT=4000.*\n$/)]);
});

describe("the settings of .env", () => {
  /** What the launcher's environment is with that file. @returns its APP_URL and its PORT, or how it ended */
  async function settings(file: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const main = await script(
      "settings",
      `import { loadSettings } from ${JSON.stringify(LAUNCHER)};
       loadSettings(${JSON.stringify(file)});
       console.log(process.env.APP_URL, process.env.PORT);`,
    );
    const child = spawn(process.execPath, [main], { env: { PATH: process.env.PATH, ...env } });
    const [out, errors] = [collect(child.stdout), collect(child.stderr)];
    await once(child, "close");
    return out() + errors();
  }

  it("are read, and those that are set already win", async () => {
    const file = join(folder, ".env");
    await writeFile(file, "APP_URL=https://app.example.com\nPORT=4000\n");
    expect(await settings(file)).toBe("https://app.example.com 4000\n");
    expect(await settings(file, { PORT: "5000" })).toBe("https://app.example.com 5000\n");
  });

  it("need not be there, and are named where they can't be read", async () => {
    expect(await settings(join(folder, ".env"))).toBe("undefined undefined\n");
    expect(await settings(folder)).toContain(`${folder} can't be read (`);
  });
});

describe("the launcher", () => {
  it("starts the data service, then the gateway, and says where everything is", async () => {
    const run = await launch(READY, READY);
    await until(run.out, (text) => text.includes("Ctrl-C"));
    expect(run.out()).toContain("Portico is running at http://localhost:3000");
    expect(run.out()).toMatch(/Root admin +root@example\.com\n +Password +one-time/);
    expect(run.out()).toMatch(/Data +\/data \(fake\)/);
    expect(run.out()).toContain('{"level":"info","message":"data service log"}');
    run.launcher.kill("SIGTERM");
    await run.code;
    expect((await notes()).map((line) => line.replace(/ pid.*/, ""))).toEqual([
      ...["data service", "gateway"],
      ...["gateway stopped", "data service stopped"],
    ]);
  });

  it("says last where an app is that was started with them", async () => {
    const app = `process.send({ type: "app", description: "The example is at http://chat.localhost:4000" });`;
    const run = await launch(READY, READY.replace('process.send({ type: "ready"', `${app}$&`));
    await until(run.out, (text) => text.includes("The example is at"));
    expect(run.out()).toMatch(/Ctrl-C\n\n {2}The example is at http:\/\/chat\.localhost:4000\n/);
    run.launcher.kill("SIGTERM");
    await run.code;
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("stops cleanly on %s", async (signal) => {
    const run = await launch(READY, READY);
    await until(run.out, (text) => text.includes("Ctrl-C"));
    run.launcher.kill(signal);
    expect(await run.code).toBe(0);
  });

  it("and its services go on where their lines can't be written, as with a full disk", async () => {
    // More than a pipe holds: nobody may be held up by what nobody takes.
    const lines = `for (let line = 0; line < 100; line += 1)
        await new Promise((resolve) => process.stdout.write("y".repeat(7_000) + "\\n", resolve));
      note(name + " logged");`;
    const full = await open("/dev/full", "w");
    const run = await launch(READY + lines, READY + lines, { output: full.fd });
    await full.close();
    await until(notes, (all) => all.filter((line) => line.endsWith(" logged")).length === 2);
    run.launcher.kill("SIGTERM");
    expect([await run.code, run.errors()]).toEqual([0, ""]);
    expect(await notes()).toContain("data service stopped");
  });

  it("prints each problem of a service that refuses to start, and ends the other", async () => {
    const run = await launch(READY, REFUSES);
    expect(await run.code).toBe(1);
    expect(run.errors()).toBe("PORT must be a number.\nAPP_URL must be an address.\n");
    expect(run.out()).not.toContain("running at");
    expect(await notes()).toContain("data service stopped");
  });

  it("shows the password that was made for the root admin also where not everything comes to run", async () => {
    const run = await launch(READY, REFUSES);
    await run.code;
    expect(run.out()).toMatch(/Root admin +root@example\.com\n +Password +one-time/);
    const stopped = await launch(READY, NEVER_READY);
    await until(notes, (lines) => lines.includes("starting"));
    stopped.launcher.kill("SIGINT");
    await stopped.code;
    expect(stopped.out()).toMatch(/Password +one-time/);
  });

  it("ends with the code of the first service that fails", async () => {
    const run = await launch(CRASHES, READY);
    expect(await run.code).toBe(7);
    expect(run.errors()).toBe("The data service ended (exit code 7).\n");
    expect(await notes()).toContain("gateway stopped");
  });

  it("stops while a service is still starting", async () => {
    const run = await launch(NEVER_READY, READY);
    await until(notes, (lines) => lines.includes("starting"));
    run.launcher.kill("SIGINT");
    expect(await run.code).toBe(0);
    await expectAllGone();
  });

  it("kills a service that doesn't stop in time", async () => {
    const run = await launch(DEAF, READY, { stopTimeoutMs: 700 });
    await until(run.out, (text) => text.includes("Ctrl-C"));
    run.launcher.kill("SIGTERM");
    expect(await run.code).toBe(1);
    expect(await notes()).toContain("data service ignores SIGTERM");
    expect(run.errors()).toBe("The data service did not stop in time and was killed.\n");
    await expectAllGone();
  });

  it("says which service did not stop well", async () => {
    const run = await launch(STOPS_BADLY, READY);
    await until(run.out, (text) => text.includes("Ctrl-C"));
    run.launcher.kill("SIGTERM");
    expect(await run.code).toBe(1);
    expect(run.errors()).toBe("The data service ended (exit code 3).\n");
  });

  it("stops services on Windows by their channel, for a signal would end them amid what they write", async () => {
    const run = await launch(TELLS_WHY, TELLS_WHY, { platform: "win32" });
    await until(run.out, (text) => text.includes("Ctrl-C"));
    run.launcher.kill("SIGTERM");
    expect(await run.code).toBe(0);
    expect((await notes()).filter((line) => !line.includes(" pid "))).toEqual([
      "gateway lost its channel",
      "data service lost its channel",
    ]);
  });

  it("kills at once on a second signal", async () => {
    const run = await launch(DEAF, DEAF);
    await until(run.out, (text) => text.includes("Ctrl-C"));
    run.launcher.kill("SIGINT");
    await until(notes, (lines) => lines.includes("gateway ignores SIGTERM"));
    run.launcher.kill("SIGINT");
    expect(await run.code).toBe(1);
    await expectAllGone();
  });

  it("leaves nothing running when it is killed itself", async () => {
    const run = await launch(READY, READY);
    await until(run.out, (text) => text.includes("Ctrl-C"));
    run.launcher.kill("SIGKILL");
    await run.code;
    await expectAllGone();
  });

  it("starts nothing when npm was told to stop while all was set up", async () => {
    const main = await script(
      "late",
      `import { existsSync } from "node:fs";
       import { launch } from ${JSON.stringify(LAUNCHER)};
       console.log("loaded");
       while (!existsSync(process.env.GO)) await new Promise((resolve) => setTimeout(resolve, 20));
       process.exitCode = await launch({ services: [${JSON.stringify({
         name: "data service",
         script: await script("data-service", READY),
       })}], env: process.env });
       console.log("ended with " + process.exitCode);`,
    );
    const env = { PATH: process.env.PATH, NOTES: join(folder, "notes"), GO: join(folder, "go") };
    const shell = spawn("sh", ["-c", `"${process.execPath}" "${main}"; true`], {
      env: { ...env, npm_lifecycle_event: "start" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const out = collect(shell.stdout);
    await until(out, (text) => text.includes("loaded"));
    shell.kill("SIGTERM");
    await once(shell, "exit");
    await writeFile(env.GO, "");
    await until(out, (text) => text.includes("ended with 1"));
    expect(await notes()).toEqual([]);
  });

  it("loads both at the same time, and lets the gateway act when the data service is ready", async () => {
    const loads = `${NOTE} process.once("message", () => note(name + " acts"));`;
    const run = await launch(NEVER_READY, loads, { waits: false });
    await until(notes, (lines) => lines.filter((line) => line.includes(" pid ")).length === 2);
    // The data service is told to begin, whatever it makes of it; its message stands for the time that passes.
    await until(notes, (lines) => lines.includes("starting"));
    expect(await notes()).not.toContain("gateway acts");
    run.launcher.kill("SIGTERM");
    expect(await run.code).toBe(0);
    await expectAllGone();
  });

  it("keeps address and port together, so that another port needs one variable", async () => {
    const showEnv = `${READY} note("APP_URL " + process.env.APP_URL); note("DATA_SERVICE_URL " + process.env.DATA_SERVICE_URL);`;
    const run = await launch(READY, showEnv, { env: { PORT: "4000" } });
    await until(run.out, (text) => text.includes("running at http://localhost:4000"));
    await until(notes, (lines) => lines.some((line) => line.startsWith("DATA_SERVICE_URL")));
    run.launcher.kill("SIGTERM");
    await run.code;
    expect(await notes()).toEqual(
      expect.arrayContaining(["APP_URL http://localhost:4000", "DATA_SERVICE_URL http://127.0.0.1:4001"]),
    );
  });
});

describe("a setting of npm start itself", () => {
  it("chooses a free port for PORT=0, and says where that is", async () => {
    const run = await launch(READY, `${READY} note(process.env.PORT + " " + process.env.APP_URL);`, {
      env: { PORT: "0" },
    });
    await until(run.out, (text) => text.includes("Ctrl-C"));
    const [, port = ""] = /Portico is running at http:\/\/localhost:(\d+)\n/.exec(run.out()) ?? [];
    expect(Number(port)).toBeGreaterThan(1023);
    expect(port).not.toBe("3000");
    run.launcher.kill("SIGTERM");
    await run.code;
    expect(await notes()).toContain(`${port} http://localhost:${port}`);
  });

  it.each(["70000", "80.5"])(
    "makes no address of what is no port, of which the gateway tells: %s",
    async (PORT) => {
      const run = await launch(READY, `${READY} note("APP_URL " + process.env.APP_URL);`, { env: { PORT } });
      await until(notes, (lines) => lines.some((line) => line.startsWith("APP_URL")));
      run.launcher.kill("SIGTERM");
      await run.code;
      expect(await notes()).toContain("APP_URL undefined");
    },
  );
});

describe("the data service that npm start runs", () => {
  it("believes what this machine says of its clients, and nobody else", async () => {
    const main = await script(
      "trusted",
      `import { SERVICES } from ${JSON.stringify(LAUNCHER)};
       console.log(SERVICES.find(({ name }) => name === "data service").settings.TRUST_PROXY);`,
    );
    const child = spawn(process.execPath, [main]);
    const out = collect(child.stdout);
    await once(child, "close");
    const app = express().set("trust proxy", readConfig({ TRUST_PROXY: out().trim() }).trustProxy);
    const trusts: (address: string, hop: number) => boolean = app.get("trust proxy fn");
    const own = Object.values(networkInterfaces()).flatMap((each = []) => each);
    for (const { address } of own.filter(({ scopeid = 0 }) => scopeid === 0))
      expect([address, trusts(address, 0)]).toEqual([address, true]);
    expect(trusts("203.0.113.7", 0)).toBe(false);
  });
});

/** Runs the launcher on two services given as source text. */
async function launch(
  dataService: string,
  gateway: string,
  options: {
    stopTimeoutMs?: number;
    env?: Record<string, string>;
    waits?: boolean;
    output?: number;
    platform?: NodeJS.Platform;
  } = {},
): Promise<Run> {
  const services = [
    {
      name: "data service",
      script: await script("data-service", dataService),
      urlVariable: "DATA_SERVICE_URL",
    },
    { name: "gateway", script: await script("gateway", `${options.waits === false ? "" : HELD}${gateway}`) },
  ];
  const main = await script(
    "main",
    `import { launch } from ${JSON.stringify(LAUNCHER)};
     import { runScript } from ${JSON.stringify(RUN_SCRIPT)};
     Object.defineProperty(process, "platform", { value: ${JSON.stringify(options.platform ?? process.platform)} });
     await runScript(() => launch({ services: ${JSON.stringify(services)}, env: process.env,
       stopTimeoutMs: ${options.stopTimeoutMs} }));`,
  );
  const env = { PATH: process.env.PATH, NOTES: join(folder, "notes"), ...options.env };
  const launcher = spawn(process.execPath, [main], {
    env,
    stdio: ["ignore", options.output ?? "pipe", "pipe"],
  });
  const out = collect(launcher.stdout);
  const errors = collect(launcher.stderr);
  const code = once(launcher, "exit").then(([exitCode]) => exitCode);
  return { launcher, out, errors, code };
}

async function script(name: string, text: string): Promise<string> {
  const path = join(folder, `${name}.mjs`);
  await writeFile(path, text);
  return path;
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.on("data", (chunk) => {
    text += String(chunk);
  });
  return () => text;
}

async function notes(): Promise<string[]> {
  const text = await readFile(join(folder, "notes"), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

async function expectAllGone(): Promise<void> {
  const pids = (await notes()).flatMap((line) => / pid (\d+)$/.exec(line)?.[1] ?? []).map(Number);
  expect(pids.length).toBeGreaterThan(0);
  await until(
    () => pids.filter(isRunning),
    ({ length }) => length === 0,
  );
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
