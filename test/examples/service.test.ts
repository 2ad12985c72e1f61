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

interface Service {
  readonly url: string;
  stop(): Promise<void>;
}

/** Runs it on a free port. */
async function startService(porticoUrl: string, token: string): Promise<Service> {
  const child: ChildProcess = spawn(process.execPath, [join(projectRoot, "examples/service/service.mjs")], {
    env: {
      PATH: process.env.PATH,
      PORTICO_URL: porticoUrl,
      APP_URL: stack.appUrl,
      PORTICO_TOKEN: token,
      PORT: "0",
    },
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (child.stdout === null) throw new Error("no output");
  const [line] = await once(createInterface(child.stdout), "line");
  const stop = async () => {
    const ended = once(child, "exit");
    child.kill();
    await ended;
  };
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
