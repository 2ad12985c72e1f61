// While the database can't be reached every call says so: 503 with Retry-After, and no 500.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, type Api, apiOf, asAdmin } from "../support/api.js";
import { type EventSource, openEvents } from "../support/event-source.js";
import { fileOf } from "../support/run-state.js";
import { type Stack, startStack } from "../support/stack.js";

let directory: string;
let engine: ChildProcess;
let stack: Stack;
let admin: Api;
let refreshToken: string;
let followed: EventSource;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "portico-down-"));
  const program = fileOf("@portico/data-service/mongo/embedded/engine-main");
  const child = spawn(process.execPath, [program, join(directory, "mongodb")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  engine = child;
  const [line] = await once(createInterface(child.stdout), "line");
  stack = await startStack({ mongodbUrl: (JSON.parse(String(line)) as { uri: string }).uri });
  admin = await asAdmin(stack);
  await admin.post("/svc_table", {
    name: "notes",
    changes: true,
    columns: [{ name: "text", type: "string" }],
  });
  const login = await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin);
  refreshToken = login.body.refreshToken;
  const authorization = `Bearer ${login.body.accessToken}`;
  followed = await openEvents(`${stack.appUrl}/api/notes/changes`, { Authorization: authorization });
  engine.kill("SIGKILL");
  await once(engine, "exit");
});

afterAll(async () => {
  // Nothing is left to be finished, and the database that `stop` would drop is gone.
  await stack.gateway.stop("SIGKILL");
  await stack.dataService.stop("SIGKILL");
  await rm(directory, { recursive: true, force: true });
  await rm(stack.dataDir, { recursive: true, force: true });
});

const CALLS: Readonly<Record<string, () => Promise<Answer>>> = {
  "a list": () => admin.get("/notes"),
  "a read": () => admin.get("/notes/0123456789abcdef01234567"),
  "a create": () => admin.post("/notes", { text: "a" }),
  "a change": () => admin.patch("/notes/0123456789abcdef01234567", { text: "a" }),
  "a delete": () => admin.delete("/notes/0123456789abcdef01234567"),
  "/me": () => admin.get("/me"),
  "a new table": () => admin.post("/svc_table", { name: "more" }),
  "a log-in": () => apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin),
  "a log-in by cookie": () => apiOf(`${stack.appUrl}/api`).post("/login", stack.admin),
  "a refresh": () => apiOf(`${stack.appUrl}/api`).post("/auth/refresh-token", { refreshToken }),
  "a log-out": () => apiOf(`${stack.appUrl}/api`).post("/auth/logout", { refreshToken }),
};

describe("without a database", () => {
  // Each waits for the database for a while: all wait at the same time.
  const answers = new Map<string, Promise<Answer>>();
  beforeAll(() => {
    for (const [name, call] of Object.entries(CALLS)) answers.set(name, call());
  });

  it.each(Object.keys(CALLS))("%s is 503 with Retry-After", async (name) => {
    const answer = await answers.get(name);
    if (answer === undefined) throw new Error(name);
    const { status, headers, body } = answer;
    expect([status, body.error.code]).toEqual([503, "SERVICE_UNAVAILABLE"]);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    expect(JSON.stringify(body)).not.toMatch(/mongo|ECONN|\.sock/i);
  });

  it("metrics are shown all the same", async () => {
    const response = await fetch(`${stack.dataUrl}/metrics`);
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringMatching(/^portico_live_sessions NaN$/im),
    ]);
  });

  it("a stream of changes ends, and says that it is for coming back", async () => {
    await followed.ended();
    expect(followed.told.map(({ event, data }) => [event, data])).toEqual([
      ["ready", {}],
      ["end", { reason: "unavailable" }],
    ]);
  });

  it("a cookie that needs a refresh is kept, and no cookie is set", async () => {
    const browser = apiOf(`${stack.appUrl}/api`, { Cookie: `refreshToken=${refreshToken}` });
    const answer = await browser.get("/notes");
    expect([answer.status >= 500, answer.headers.getSetCookie()]).toEqual([true, []]);
  });

  it("the public keys are still served, and both processes are alive but not ready", async () => {
    expect((await apiOf(`${stack.appUrl}/api`).get("/.well-known/jwks.json")).status).toBe(200);
    for (const base of [stack.appUrl, stack.dataUrl]) {
      expect((await apiOf(base).get("/healthz")).status).toBe(200);
      const unready = await apiOf(base).get("/readyz");
      expect([unready.status, unready.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(unready.body.error).toMatchObject({
        code: "SERVICE_UNAVAILABLE",
        path: "/readyz",
        correlationId: unready.headers.get("x-correlation-id"),
      });
    }
  });
});
