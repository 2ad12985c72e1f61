// examples/service, run as its README says: an API token of its own, and callers' tokens checked by the published keys.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { decodeProtectedHeader } from "jose";
import { make } from "../contract/records/make.js";
import { type Api, apiOf, asAdmin, signIn } from "../support/api.js";
import { freePort } from "../support/free-port.js";
import { projectRoot } from "../support/run-state.js";
import { type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const SERVICE = { email: "service@example.com", password: "the service's" };

let stack: Stack;
let annId: string;
let service: Service;
let serviceToken: string;

interface Service {
  readonly url: string;
  stop(): Promise<void>;
}

/** Runs a program of the example. */
function startProgram(args: readonly string[], env: Readonly<Record<string, string>>) {
  const [name = "", ...rest] = args;
  const child: ChildProcess = spawn(
    process.execPath,
    [join(projectRoot, "examples/service", name), ...rest],
    { env: { PATH: process.env.PATH, ...env }, stdio: ["ignore", "pipe", "ignore"] },
  );
  if (child.stdout === null) throw new Error("no output");
  const stop = async () => {
    const ended = once(child, "exit");
    child.kill();
    await ended;
  };
  return { lines: createInterface(child.stdout), stop };
}

/** Runs the service on a free port. */
async function startService(porticoUrl: string, token: string): Promise<Service> {
  const env = { PORTICO_URL: porticoUrl, APP_URL: stack.appUrl, PORTICO_TOKEN: token, PORT: "0" };
  const { lines, stop } = startProgram(["service.mjs"], env);
  const [line] = await once(lines, "line");
  return { url: String(line), stop };
}

beforeAll(async () => {
  stack = await startStack();
  const admin = await asAdmin(stack);
  annId = (await make(admin, "svc_user", ANN)).id;
  await make(admin, "svc_user", SERVICE);
  const owner: Api = await signIn(`${stack.appUrl}/api`, SERVICE);
  const wish = { name: "example", expiresAt: "never", readOnly: true };
  const { token } = await make(owner, "auth/api-tokens", wish);
  serviceToken = token;
  service = await startService(stack.dataUrl, token);
});

afterAll(async () => {
  await service?.stop();
  await stack?.stop();
});

const tokenOf = async (credentials: object): Promise<string> =>
  (await apiOf(`${stack.appUrl}/api`).post("/auth/login", credentials)).body.accessToken;
const ask = (token?: string) =>
  apiOf(service.url, token === undefined ? {} : { Authorization: `Bearer ${token}` }).get("/");

describe("the example service", () => {
  it("knows its caller by their token, and Portico knows the service by its own", async () => {
    const { status, body } = await ask(await tokenOf(ANN));
    expect([status, body]).toEqual([200, { user: annId, service: SERVICE.email }]);
  });

  it("takes the word before the token in any case, as Portico does", async () => {
    const api = apiOf(service.url, { Authorization: `bearer ${await tokenOf(ANN)}` });
    expect((await api.get("/")).body.user).toBe(annId);
  });

  it.each([
    ["does not answer", async () => `http://127.0.0.1:${await freePort()}`],
    ["answers something else", async () => stack.appUrl],
  ])("calls no token invalid while whoever publishes the keys %s", async (_what, porticoUrl) => {
    const alone = await startService(await porticoUrl(), "svc_pat_x");
    try {
      const api = apiOf(alone.url, { Authorization: `Bearer ${await tokenOf(ANN)}` });
      expect((await api.get("/")).status).toBe(502);
      expect((await apiOf(alone.url).get("/")).status).toBe(401);
    } finally {
      await alone.stop();
    }
  });

  it("knows them by a key that was added while it ran, as soon as tokens are signed with it", async () => {
    expect((await ask(await tokenOf(ANN))).status).toBe(200);
    const { body } = await (await asAdmin(stack)).post("/auth/keys/rotate");
    const token = await until(
      () => tokenOf(ANN),
      (token) => decodeProtectedHeader(token).kid === body.kid,
    );
    expect((await ask(token)).status).toBe(200);
  });

  it("takes no forged token, none at all, and no API token for a user's", async () => {
    const [head, claims] = (await tokenOf(ANN)).split(".");
    for (const token of [undefined, "nonsense", `${head}.${claims}.${"A".repeat(86)}`, "svc_pat_x"]) {
      expect((await ask(token)).status).toBe(401);
    }
  });
});

describe("the example that follows a table", () => {
  it("is told what happens, also while the data service was away", async () => {
    const admin = await asAdmin(stack);
    await make(admin, "svc_table", {
      name: "tasks",
      changes: true,
      columns: [{ name: "title", type: "text" }],
    });
    await make(admin, "svc_permission", { role: null, table: "tasks", action: "read", fields: "title" });
    const told: string[] = [];
    const reach = (count: number) =>
      until(
        () => told.length,
        (seen) => seen >= count,
      );
    const env = { PORTICO_URL: stack.dataUrl, PORTICO_TOKEN: serviceToken };
    const { lines, stop } = startProgram(["follow.mjs", "tasks"], env);
    lines.on("line", (line) => told.push(line));
    try {
      await reach(1);
      const first = await make(admin, "tasks", { title: "Zoë: a\nb" });
      await reach(2);
      await stack.dataService.stop("SIGKILL");
      await stack.restartDataService();
      const second = await make(await asAdmin(stack), "tasks", { title: "meanwhile" });
      await reach(4);
      const said = ({ id }: { id: string }, title: string) =>
        `created ${id} ${JSON.stringify({ id, title })}`;
      expect(told).toEqual(["ready", said(first, "Zoë: a\nb"), "ready", said(second, "meanwhile")]);
    } finally {
      await stop();
    }
  });
});
