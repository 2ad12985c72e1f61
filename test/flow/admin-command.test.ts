// `npm run admin`: whoever has the database, and has lost the password of its root admin, gets a new one.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, apiOf, asAdmin, signIn } from "../support/api.js";
import { fileOf, projectRoot } from "../support/run-state.js";
import {
  ADMIN,
  dropDatabase,
  freshDatabase,
  type Stack,
  startAnother,
  startService,
  startStack,
} from "../support/stack.js";
import { until } from "../support/wait.js";

const PASSWORD = /^Root admin: (\S+), new password: (\S+)\n$/;

let stack: Stack;
let api: string;
let root: Api;
let client: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  api = `${stack.appUrl}/api`;
  root = await asAdmin(stack);
  client = await MongoClient.connect(stack.mongodbUrl);
});

afterAll(async () => {
  await client?.close();
  await stack?.stop();
});

const users = () => client.db().collection("svc_user");

beforeEach(() => users().deleteMany({ email: "other@example.com" }));

/** Runs the command. @returns its exit code and what it says */
async function admin(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [fileOf("@portico/data-service/admin-main"), ...words], {
    env: { PATH: process.env.PATH, MONGODB_URL: stack.mongodbUrl, DATA_DIR: stack.dataDir, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { out, errors, code };
}

const logIn = (email: string, password: string) => apiOf(api).post("/auth/login", { email, password });
const makeOther = () =>
  root.post("/svc_user", { email: "other@example.com", password: "other's password", isRootAdmin: true });

describe("a new password for the root admin", () => {
  it("is shown once, beside running services, and ends the sessions of the former one", async () => {
    const { out, code } = await admin([]);
    const [, email = "", password = ""] = PASSWORD.exec(out) ?? [];
    expect([code, email]).toEqual([0, ADMIN.email]);
    expect((await logIn(email, ADMIN.password)).status).toBe(401);
    expect((await logIn(email, password)).status).toBe(200);
    await untilSignedOut(root);
    root = await signIn(api, { email, password });
  });

  it("is told by the audit log, as is that the account is on again", async () => {
    await makeOther();
    await users().updateOne({ email: "other@example.com" }, { $set: { isActive: false } });
    const { _id } = (await users().findOne({ email: "other@example.com" })) ?? {};
    await admin(["other@example.com"]);
    const filter = { userId: String(_id), event: { _neq: "user.created" } };
    const { body } = await root.get("/svc_audit", { filter, sort: "event" });
    const details = { by: "npm run admin" };
    expect(body.data).toMatchObject([
      { event: "password.changed", details },
      { event: "user.activated", details },
    ]);
  });

  it("is that of the one who is named, where there are several", async () => {
    await makeOther();
    const unnamed = await admin([]);
    expect([unnamed.code, unnamed.out]).toEqual([2, ""]);
    expect(unnamed.errors).toBe(`The root admins are ${ADMIN.email}, other@example.com; name one of them.\n`);
    expect((await admin(["nobody@example.com"])).code).toBe(2);
    const { out } = await admin([" Other@Example.com"]);
    const [, email = "", password = ""] = PASSWORD.exec(out) ?? [];
    expect(email).toBe("other@example.com");
    expect((await logIn(email, password)).status).toBe(200);
  });

  it("switches the account on again that was switched off", async () => {
    await makeOther();
    await users().updateOne({ email: "other@example.com" }, { $set: { isActive: false } });
    const { out } = await admin(["other@example.com"]);
    const [, email = "", password = ""] = PASSWORD.exec(out) ?? [];
    expect((await logIn(email, password)).status).toBe(200);
  });

  it("is not made for anybody else, nor by a word that is no e-mail", async () => {
    await root.post("/svc_user", { email: "ann@example.com", password: "ann's password" });
    expect((await admin(["ann@example.com"])).code).toBe(2);
    expect((await logIn("ann@example.com", "ann's password")).status).toBe(200);
    const { code, errors } = await admin(["--help"]);
    expect([code, errors]).toEqual([2, expect.stringContaining("usage: npm run admin")]);
  });
});

it("ends when the secret is another one, and says so", async () => {
  const { code, errors } = await admin([], { ENCRYPTION_KEY: randomBytes(32).toString("hex") });
  expect([code, errors]).toEqual([1, expect.stringMatching(/^The signing keys .* can't be decrypted;.*\n$/)]);
});

it("makes no other secret where the one of the database is lost", async () => {
  const folder = await mkdtemp(join(tmpdir(), "portico-admin-"));
  try {
    const { code, errors } = await admin([], { DATA_DIR: folder });
    expect([code, errors]).toEqual([
      1,
      expect.stringContaining(`${folder}/secrets/encryption-key is missing, and no ENCRYPTION_KEY is set`),
    ]);
    expect(await readdir(folder)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it.each(["SIGTERM", "SIGINT"] as const)("takes the process with the database along on %s", async (signal) => {
  const silent = createServer((socket) => void socket.resume()).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = silent.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const patient = "serverSelectionTimeoutMS=600000&connectTimeoutMS=600000";
  const script = spawn(process.execPath, [join(projectRoot, "scripts/admin.mjs")], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: stack.dataDir,
      MONGODB_URL: `mongodb://127.0.0.1:${port}/x?${patient}`,
    },
    stdio: "ignore",
  });
  const ended = once(script, "close");
  const [connection] = await once(silent, "connection");
  const closed = once(connection, "close");
  script.kill(signal);
  // As a shell tells that the process behind it was ended by SIGTERM.
  expect(await ended).toEqual([143, null]);
  await closed;
  silent.close();
});

it("the embedded database is opened while no service runs, and else it is said what to do", async () => {
  const directory = await mkdtemp(join(tmpdir(), "portico-admin-"));
  const embedded = { MONGODB_URL: "", DATA_DIR: directory };
  try {
    const none = await admin([], embedded);
    expect([none.code, none.errors]).toEqual([
      1,
      `There is no database at ${directory}/mongodb; DATA_DIR or MONGODB_URL says where it is, and the service makes one when it first starts.\n`,
    ]);
    expect(await readdir(directory)).toEqual([]);
    const env = { ...embedded, DATA_SERVICE_PORT: "0", DEMO: "off", ADMIN_PASSWORD: "forgotten by now" };
    const service = await startService("@portico/data-service/main", env);
    const busy = await admin([], embedded);
    expect([busy.code, busy.errors]).toEqual([1, expect.stringContaining("stop the service first")]);
    await service.stop();
    const [, email = "", password = ""] = PASSWORD.exec((await admin([], embedded)).out) ?? [];
    const again = await startService("@portico/data-service/main", env);
    expect((await apiOf(again.url).post("/auth/login", { email, password })).status).toBe(200);
    await again.stop();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

it("signing keys of a lost secret are forgotten once that is confirmed, and others never", async () => {
  const directory = await mkdtemp(join(tmpdir(), "portico-admin-"));
  const embedded = { MONGODB_URL: "", DATA_DIR: directory };
  const words = ["--forget-signing-keys"];
  const env = { ...embedded, DATA_SERVICE_PORT: "0", DEMO: "off", ADMIN_PASSWORD: ADMIN.password };
  const start = () => startService("@portico/data-service/main", env);
  try {
    await (await start()).stop();
    const kept = await admin([...words, "--confirm"], embedded);
    expect([kept.code, kept.errors]).toEqual([1, expect.stringMatching(/^None .* is lost: .*\n$/)]);
    await rm(join(directory, "secrets/encryption-key"));
    const asked = await admin(words, embedded);
    expect([asked.code, asked.errors]).toEqual([
      2,
      expect.stringMatching(/^1 of .* can't be decrypted: no ENCRYPTION_KEY is set here\. /),
    ]);
    await expect(start()).rejects.toThrow("can't be decrypted");
    expect((await admin([...words, "--confirm"], embedded)).code).toBe(0);
    const again = await start();
    expect((await apiOf(again.url).post("/auth/login", ADMIN)).status).toBe(200);
    await again.stop();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

it("so is what a first start has sealed that was killed before it had a key", async () => {
  const directory = await mkdtemp(join(tmpdir(), "portico-admin-"));
  const mongodbUrl = freshDatabase();
  const words = ["--forget-signing-keys"];
  const env = {
    DATA_DIR: directory,
    ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    MONGODB_URL: mongodbUrl,
  };
  const start = () => startAnother({ appUrl: stack.appUrl, dataDir: directory, mongodbUrl }, env);
  const other = await MongoClient.connect(mongodbUrl);
  try {
    const markers = other.db().collection<{ _id: string; sealed: string }>("_markers");
    await markers.insertOne({ _id: "encryption-key", sealed: "with a secret that is lost" });
    await expect(start()).rejects.toThrow("can't be decrypted");
    await expect(start()).rejects.toThrow("can't be decrypted");
    const asked = await admin(words, env);
    expect([asked.code, asked.errors]).toEqual([
      2,
      expect.stringMatching(
        /^No signing key, but .* can't be decrypted: the ENCRYPTION_KEY here is another\. /,
      ),
    ]);
    expect((await admin([...words, "--confirm"], env)).code).toBe(0);
    await (await start()).stop();
    expect((await admin([...words, "--confirm"], env)).code).toBe(1);
  } finally {
    await other.close();
    await dropDatabase(mongodbUrl);
    await rm(directory, { recursive: true, force: true });
  }
});

it("signing keys are not forgotten where a service runs, which has their secret", async () => {
  const other = { ENCRYPTION_KEY: randomBytes(32).toString("base64") };
  const asked = await admin(["--forget-signing-keys"], other);
  expect([asked.code, asked.errors]).toEqual([
    2,
    expect.stringContaining("the ENCRYPTION_KEY here is another"),
  ]);
  const { code, errors } = await admin(["--forget-signing-keys", "--confirm"], other);
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(/^a data service that can decrypt them is running/),
  ]);
  expect(await client.db().collection("_signing_keys").countDocuments()).toBe(1);
});

/** On the instances that run, within the five seconds of every such change and what a busy machine adds. */
async function untilSignedOut(who: Api): Promise<void> {
  await until(
    async () => (await who.get("/me")).status,
    (status) => status === 401,
    8_000,
  );
}
