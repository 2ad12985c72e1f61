// Contract 6: the first start makes one root admin, however it is started and however many start at once.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { apiOf, signIn } from "../support/api.js";
import { startRouterProxy } from "../support/router-proxy.js";
import { fileOf } from "../support/run-state.js";
import { beginService, freshDatabase, type RunningService, startService } from "../support/stack.js";
import { until } from "../support/wait.js";

let directory: string;
let mongodbUrl: string;
let started: (() => Promise<void>)[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "portico-first-"));
  mongodbUrl = freshDatabase();
  started = [];
});

afterEach(async () => {
  for (const stop of started) await stop();
  const client = await MongoClient.connect(mongodbUrl);
  await client.db().dropDatabase();
  await client.close();
  await rm(directory, { recursive: true, force: true });
});

const settings = (more: Readonly<Record<string, string>> = {}) => ({
  DATA_DIR: directory,
  MONGODB_URL: mongodbUrl,
  DATA_SERVICE_PORT: "0",
  NODE_ENV: "test",
  DEMO: "off",
  ...more,
});

/** Starts the data service as a launcher does. */
async function startLaunched(more: Readonly<Record<string, string>> = {}): Promise<RunningService> {
  const service = await startService("@portico/data-service/main", settings(more));
  started.push(() => service.stop());
  return service;
}

const start = async (more: Readonly<Record<string, string>> = {}): Promise<string> =>
  (await startLaunched(more)).url;

/** Starts the data service without a launcher, as from a terminal. */
async function startAlone(): Promise<{ url: string; printed: string; log: string }> {
  const child: ChildProcess = spawn(process.execPath, [fileOf("@portico/data-service/main")], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { printed: "", log: "" };
  child.stderr?.on("data", (chunk: Buffer) => {
    output.printed += chunk.toString();
  });
  started.push(async () => {
    if (child.exitCode === null) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
  });
  return new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error(`service ended: ${output.printed}`)));
    child.stdout?.on("data", (chunk: Buffer) => {
      output.log += chunk.toString();
      const line = output.log.split("\n").find((each) => each.includes("data service is ready"));
      if (line?.endsWith("}")) resolve({ url: JSON.parse(line).url, ...output });
    });
  });
}

async function stopAll(): Promise<void> {
  for (const stop of started.splice(0)) await stop();
}

async function rootAdmins(): Promise<string[]> {
  const client = await MongoClient.connect(mongodbUrl);
  const admins = await client.db().collection("svc_user").find({ isRootAdmin: true }).toArray();
  await client.close();
  return admins.map(({ email }) => String(email));
}

describe("the first start", () => {
  it("makes the root admin of ADMIN_EMAIL and ADMIN_PASSWORD", async () => {
    const url = await start({ ADMIN_EMAIL: " Boss@Example.com", ADMIN_PASSWORD: "boss's password" });
    const boss = await signIn(url, { email: "boss@example.com", password: "boss's password" });
    expect((await boss.get("/me")).body.data[0]).toMatchObject({ isRootAdmin: true, isActive: true });
    expect(await rootAdmins()).toEqual(["boss@example.com"]);
  });

  it("makes up a password when none is given, and prints it once and nowhere else", async () => {
    const first = await startAlone();
    const [, email = "", password = ""] =
      /Root admin: (\S+), password, shown this once: (\S+)/.exec(first.printed) ?? [];
    expect(email).toBe("admin@example.com");
    expect(password.length).toBeGreaterThanOrEqual(20);
    expect((await apiOf(first.url).post("/auth/login", { email, password })).status).toBe(200);
    expect(first.log).not.toContain(password);
    await stopAll();

    const second = await startAlone();
    expect(second.printed).not.toMatch(/password/i);
    expect((await apiOf(second.url).post("/auth/login", { email, password })).status).toBe(200);
  });

  it("prints the password it made up before anything can fail, and whoever started it", async () => {
    const schemaFile = join(directory, "there-is-none.json");
    const child = spawn(process.execPath, [fileOf("@portico/data-service/main")], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings({ SCHEMA_FILE: schemaFile }) },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let printed = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
    await once(child, "close");
    expect(printed).toContain("there-is-none.json");
    const [, email = "", password = ""] =
      /Root admin: (\S+), password, shown this once: (\S+)/.exec(printed) ?? [];
    const { url } = await startAlone();
    expect((await apiOf(url).post("/auth/login", { email, password })).status).toBe(200);
  });

  it("closes its own database and ends well when it is told to stop before it is ready", async () => {
    const isNoted = () => existsSync(join(directory, "mongodb/portico-address"));
    for (const restMs of [0, 300, 600]) {
      const service = beginService("@portico/data-service/main", settings({ MONGODB_URL: "" }));
      await until(isNoted);
      await delay(restMs);
      await service.stop();
      expect(service.process.exitCode).toBe(0);
      // Left by one that was aborted.
      expect(isNoted()).toBe(false);
    }
  });

  it("is refused in one sentence by a MongoDB that is too old", async () => {
    const { hostname } = new URL(mongodbUrl);
    const old = await startRouterProxy({ path: decodeURIComponent(hostname) }, { maxWireVersion: 13 });
    started.push(() => old.close());
    const where = `127.0.0.1:${old.port}`;
    await expect(startLaunched({ MONGODB_URL: `mongodb://${where}/?directConnection=true` })).rejects.toThrow(
      `MongoDB at ${where} is older than 6.0, which Portico needs: upgrade it, or correct MONGODB_URL.`,
    );
  });

  it("of three instances at once makes one root admin, and all three serve", async () => {
    const admin = { ADMIN_EMAIL: "boss@example.com", ADMIN_PASSWORD: "boss's password" };
    const urls = await Promise.all([start(admin), start(admin), start(admin)]);
    expect(await rootAdmins()).toEqual(["boss@example.com"]);
    for (const url of urls) {
      const boss = await signIn(url, { email: "boss@example.com", password: "boss's password" });
      expect((await boss.get("/svc_table")).status).toBe(200);
    }
  });
});

describe("a later start", () => {
  it("leaves the root admin alone, whatever ADMIN_EMAIL and ADMIN_PASSWORD say by then", async () => {
    await start({ ADMIN_EMAIL: "boss@example.com", ADMIN_PASSWORD: "boss's password" });
    await stopAll();
    const url = await start({ ADMIN_EMAIL: "other@example.com", ADMIN_PASSWORD: "other password" });
    expect(await rootAdmins()).toEqual(["boss@example.com"]);
    const login = { email: "boss@example.com", password: "boss's password" };
    expect((await apiOf(url).post("/auth/login", login)).status).toBe(200);
  });

  it("says once that the ADMIN_PASSWORD it was given is not used, and not what it is", async () => {
    const notUsed = (log: string) => log.split("\n").filter((line) => line.includes("ADMIN_PASSWORD"));
    const admin = { ADMIN_PASSWORD: "boss's password", LOG_LEVEL: "info" };
    expect(notUsed((await startLaunched(admin)).log())).toEqual([]);
    await stopAll();
    const log = (await startLaunched({ ...admin, ADMIN_PASSWORD: "other password" })).log();
    expect(notUsed(log)).toEqual([expect.stringMatching(/not used.*npm run admin/)]);
    expect(log).not.toContain("other password");
  });
});
