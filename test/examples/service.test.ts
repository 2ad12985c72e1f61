// examples/service, run as its README says: an API token of its own, and callers' tokens checked by the published keys.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
    { env: { PATH: process.env.PATH, ...env }, stdio: ["ignore", "pipe", "pipe"] },
  );
  if (child.stdout === null || child.stderr === null) throw new Error("no output");
  const ended = once(child, "close");
  const stop = async () => {
    child.kill();
    await ended;
  };
  return { lines: createInterface(child.stdout), errors: createInterface(child.stderr), stop };
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
  /** Runs it until it is stopped, which answers what it said last. */
  function follow(env: Readonly<Record<string, string>>) {
    const { lines, errors, stop } = startProgram(["follow.mjs", "tasks"], env);
    const told: string[] = [];
    const said: string[] = [];
    lines.on("line", (line) => told.push(line));
    errors.on("line", (line) => said.push(line));
    const reach = (count: number) =>
      until(
        () => told.length,
        (seen) => seen >= count,
      );
    return { told, said, reach, stop };
  }

  const created = ({ id }: { id: string }, title: string) => `created ${id} ${JSON.stringify({ id, title })}`;

  it("is told what happens, also while the data service was away, and when it starts anew", async () => {
    const admin = await asAdmin(stack);
    await make(admin, "svc_table", {
      name: "tasks",
      changes: true,
      columns: [{ name: "title", type: "text" }],
    });
    await make(admin, "svc_permission", { role: null, table: "tasks", action: "read", fields: "title" });
    const env = { PORTICO_URL: stack.dataUrl, PORTICO_TOKEN: serviceToken };
    const before = follow(env);
    try {
      await before.reach(1);
      const first = await make(admin, "tasks", { title: "Zoë: a\nb" });
      await before.reach(2);
      await stack.dataService.stop("SIGKILL");
      await stack.restartDataService();
      const second = await make(await asAdmin(stack), "tasks", { title: "meanwhile" });
      await before.reach(4);
      const { told } = before;
      expect(told).toEqual(["ready", created(first, "Zoë: a\nb"), "ready", created(second, "meanwhile")]);
    } finally {
      await before.stop();
    }
    const [, lastEventId = ""] = /^LAST_EVENT_ID=(.+)$/.exec(before.said.at(-1) ?? "") ?? [];
    const third = await make(await asAdmin(stack), "tasks", { title: "stopped" });
    const after = follow({ ...env, LAST_EVENT_ID: lastEventId });
    try {
      await after.reach(2);
      expect(after.told).toEqual(["ready", created(third, "stopped")]);
    } finally {
      await after.stop();
    }
  });

  it("comes back from what is no stream, goes on behind what it was told whole, and gives up where it is refused", async () => {
    const asked: unknown[] = [];
    const html = { "Content-Type": "text/html" };
    const server = createServer(({ headers }, response) => {
      asked.push(headers["last-event-id"]);
      if (asked.length <= 2)
        response.writeHead(asked.length === 1 ? 200 : 404, html).end("<p>Not this.</p>\n\n");
      else if (asked.length > 3)
        response.writeHead(403, { "Content-Type": "application/json" }).end('{"message":"No."}');
      else {
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        response.write("event: ready\nid: a\ndata: {}\n\n: still here\nid: b\n\nevent: created\nid: c\nda");
        setTimeout(() => response.destroy(), 100);
      }
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { told, said, stop } = follow({ PORTICO_URL: `http://127.0.0.1:${port}`, PORTICO_TOKEN: "any" });
    const ended = until(
      () => said.at(-1),
      (last) => last === "Portico answered 403: No.",
    );
    await ended.finally(() => server.close());
    await stop();
    expect(asked).toEqual([undefined, undefined, undefined, "b"]);
    expect(told).toEqual(["ready"]);
    expect(said.slice(0, 2)).toEqual(
      [200, 404].map((status) => expect.stringContaining(`answered ${status}, not as Portico does`)),
    );
  });
});
