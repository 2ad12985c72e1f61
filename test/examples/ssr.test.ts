// examples/ssr, the proxy: an end of either connection is passed on to the other.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request as ask, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { makeTable } from "../contract/records/make.js";
import { sendRaw } from "../gateway/support/raw-http.js";
import { json, startUpstream, type Upstream } from "../gateway/support/upstream.js";
import { asAdmin } from "../support/api.js";
import { openEvents } from "../support/event-source.js";
import { freePort } from "../support/free-port.js";
import { allowAll } from "../support/rules.js";
import { projectRoot } from "../support/run-state.js";
import { type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";

interface App {
  readonly url: string;
  stop(): Promise<void>;
}

/** Runs the app before an API. */
async function startApp(apiUrl: string): Promise<App> {
  const port = await freePort();
  const app: ChildProcess = spawn(process.execPath, [join(projectRoot, "examples/ssr/server.mjs")], {
    env: { PATH: process.env.PATH, API_URL: apiUrl, SSR_PORT: String(port) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (app.stdout === null) throw new Error("no output");
  await once(createInterface(app.stdout), "line");
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const ended = once(app, "exit");
      if (app.exitCode === null && app.kill()) await ended;
    },
  };
}

it("says where it is to whoever started it, in the terminal only where that is nobody", async () => {
  const port = await freePort();
  const app = spawn(process.execPath, [join(projectRoot, "examples/ssr/server.mjs")], {
    env: { PATH: process.env.PATH, API_URL: "http://localhost:9", SSR_PORT: String(port) },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let printed = "";
  app.stdout?.on("data", (chunk) => {
    printed += chunk;
  });
  const told: unknown[] = [];
  await new Promise<void>((resolve) => {
    app.on("message", (message) => {
      if (told.push(message) === 2) resolve();
    });
  });
  app.kill();
  await once(app, "close");
  const url = `http://chat.localhost:${port}`;
  expect(told).toEqual([
    { type: "app", description: `The example is at ${url}, and its API at http://localhost:9` },
    { type: "ready", url },
  ]);
  expect(printed).toBe("");
});

describe("before Portico", () => {
  let stack: Stack;
  let app: App;

  beforeAll(async () => {
    stack = await startStack();
    app = await startApp(stack.gateway.url);
    const admin = await asAdmin(stack);
    const columns = [{ name: "title", type: "string" }];
    await makeTable(admin, { name: "notes", changes: true, columns });
    await allowAll(admin, ["notes"], null);
  });
  afterAll(async () => {
    await app?.stop();
    await stack?.stop();
  });

  it("a browser that closes its EventSource ends the data service's stream", async () => {
    const source = await openEvents(`${app.url}/portal/notes/changes`);
    source.close();
    // The line of a request is written when its answer has ended.
    await until(() => stack.dataService.log().includes('"path":"/notes/changes"'));
  });

  it("a browser is told at once that what it sends is too large, and may send the rest", async () => {
    const [body, headers] = [Buffer.alloc(8_000_000), { "Content-Type": "application/json" }];
    const agent = new Agent({ keepAlive: true });
    const sending = ask(`${app.url}/portal/notes`, { method: "POST", headers, agent });
    // Node closes a connection that nobody reads after some seconds: `once` throws then.
    const isSent = once(sending.end(body), "finish");
    const [answer]: IncomingMessage[] = await once(sending, "response");
    expect(answer?.resume().statusCode).toBe(413);
    await isSent;
    agent.destroy();
  });
});

describe("before an API that fails", () => {
  let api: Upstream;
  let app: App;

  beforeAll(async () => {
    api = await startUpstream();
    app = await startApp(api.url);
  });
  afterAll(async () => {
    await app?.stop();
    await api?.close();
  });

  /** Sends an address as it is, where `fetch` would resolve its dots. */
  async function statusOf(path: string): Promise<number | undefined> {
    const { port } = new URL(app.url);
    const request = ask({ port, host: "127.0.0.1", path, agent: false }).end();
    const [answer]: IncomingMessage[] = await once(request, "response");
    return answer?.resume().statusCode;
  }

  it("an answer that is cut in the middle breaks the browser's connection", async () => {
    api.on("GET /api/large", (_arrived, response) => {
      response.writeHead(200, { "Content-Length": 1_000 });
      response.write("half", () => response.destroy());
    });
    const answer = await fetch(`${app.url}/portal/large`);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });

  it("says to the API whose visit a page is rendered for, so that it renews no session for one that may be broken off", async () => {
    api.on("GET /api/me", json(401, {}));
    api.on("GET /api/auth/providers", json(200, { data: [] }));
    const visit = { Cookie: "refreshToken=a", "Sec-Fetch-Site": "cross-site", "Sec-Purpose": "prefetch" };
    const { status } = await fetch(app.url, { headers: visit });
    const { headers } = api.arrived.findLast(({ url }) => url.startsWith("/api/me?")) ?? api.last();
    const { cookie, "sec-fetch-site": site, "sec-purpose": purpose } = headers;
    expect([status, cookie, site, purpose]).toEqual([200, "refreshToken=a", "cross-site", "prefetch"]);
  });

  it("cookies of several calls go to the browser, each as the last call has it", async () => {
    api.on("GET /api/me", (_arrived, response) => {
      response.writeHead(401, { "Set-Cookie": ["own=1; Path=/", "accessToken=1"] }).end("{}");
    });
    api.on("GET /api/auth/providers", json(200, { data: [] }, { "Set-Cookie": "accessToken=2" }));
    const { headers } = await fetch(app.url);
    expect(headers.getSetCookie()).toEqual(["own=1; Path=/", "accessToken=2"]);
  });

  it("keeps no more of a form to sign in than it may hold", async () => {
    api.on("POST /api/login", json(401, { message: "wrong" }));
    api.on("GET /api/me", json(401, {}));
    api.on("GET /api/auth/providers", json(200, { data: [] }));
    const body = `email=a&password=${"b".repeat(8_000_000)}`;
    expect((await fetch(`${app.url}/login`, { method: "POST", body })).status).toBe(401);
    const passed = api.arrived.findLast(({ url }) => url === "/api/login");
    expect(passed?.body.length).toBeLessThan(200_000);
  });

  it("no page of another origin may have it in a frame, where a visitor could be led to press its buttons, or hold its window", async () => {
    api.on("GET /api/me", json(401, {}));
    api.on("GET /api/auth/providers", json(200, { data: [] }));
    const { headers } = await fetch(app.url);
    expect(headers.get("content-security-policy")).toBe("frame-ancestors 'none'");
    expect(headers.get("cross-origin-opener-policy")).toBe("same-origin-allow-popups");
  });

  it("what the API says of its host, that it is on https with all below it, is not said of the app's", async () => {
    api.on("GET /api/me", (_arrived, response) => {
      response.setHeader("Strict-Transport-Security", "max-age=31536000; includeSubDomains").end();
    });
    const { status, headers } = await fetch(`${app.url}/portal/me`);
    expect([status, headers.get("strict-transport-security")]).toEqual([200, null]);
  });

  it("what the API says of its connection is not said of the browser's", async () => {
    api.on("GET /api/chunks", (_arrived, response) => {
      response.setHeader("Upgrade", "h2c").write("1");
      response.end("2");
    });
    const { headers } = await fetch(`${app.url}/portal/chunks`);
    expect([headers.get("keep-alive"), headers.get("upgrade")]).toEqual(["timeout=5", null]);
    const old = await sendRaw(app.url, "GET /portal/chunks HTTP/1.0\r\n\r\n");
    expect(old).toMatch(/\r\nConnection: close\r\n/i);
    expect(old).not.toMatch(/keep-alive|chunked/i);
    expect(old.endsWith("\r\n\r\n12")).toBe(true);
  });

  it.each([
    ["Connection", "close, X-Forwarded-For"],
    ["Expect", "100-continue"],
    ["HTTP2-Settings", "AAMAAABkAARAAAAA"],
    ["Keep-Alive", "timeout=5"],
    ["Proxy-Connection", "keep-alive"],
    ["TE", "trailers"],
    ["Trailer", "Checksum"],
    ["Upgrade", "h2c"],
  ])("what a browser says of its connection stays with the app: %s", async (name, value) => {
    const headersWith = async (line: string) => {
      const answer = await sendRaw(app.url, `GET /portal/posts HTTP/1.1\r\nHost: x\r\n${line}\r\n`);
      expect(answer).toContain("HTTP/1.1 200 OK");
      return api.last().headers;
    };
    expect(await headersWith(`${name}: ${value}\r\n`)).toEqual(await headersWith(""));
  });

  it("a body in pieces whose length nobody knows reaches the API whole, whatever the method", async () => {
    const head = "DELETE /portal/posts HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(await sendRaw(app.url, `${head}2\r\n{}\r\n0\r\n\r\n`)).toContain("HTTP/1.1 200 OK");
    expect(api.last().body.toString()).toBe("{}");
  });

  it("an upload that breaks off reaches the API as one", async () => {
    const seen: { upload?: IncomingMessage } = {};
    api.onHead("POST /api/svc_file", (request) => {
      seen.upload = request.resume();
      request.on("error", () => undefined);
    });
    const headers = { "Content-Length": 1_000 };
    const upload = ask(`${app.url}/portal/svc_file`, { method: "POST", headers, agent: false });
    upload.on("error", () => undefined);
    upload.write("half");
    await until(() => seen.upload !== undefined);
    upload.destroy();
    await until(() => seen.upload?.destroyed === true);
    expect(seen.upload?.complete).toBe(false);
  });

  it("a browser that leaves before the answer begins ends the request", async () => {
    let hasEnded = false;
    api.on("GET /api/slow", (_arrived, response) => void response.on("close", () => (hasEnded = true)));
    const leaving = new AbortController();
    const answer = fetch(`${app.url}/portal/slow`, { signal: leaving.signal });
    await until(() => api.heads.includes("GET /api/slow"));
    leaving.abort();
    await expect(answer).rejects.toThrow();
    await until(() => hasEnded);
  });

  it("a request for what is no address is refused, and the app goes on", async () => {
    expect(await statusOf("//")).toBe(400);
    expect((await fetch(`${app.url}/nothing`)).status).toBe(404);
  });

  it.each([
    "/portal/../healthz",
    "/portal/posts/%2e%2E/.%2e/healthz",
    "/portal\\..\\healthz",
    // The prefix stands where it ends, and where it is cut off there is another way out.
    "/others/../portal/healthz",
    "/other/../portal/posts",
    "/portal/posts/../../api/posts",
    "http://chat.localhost/portal/posts",
  ])("%s leads to nothing but the API", async (path) => {
    const before = api.heads.length;
    const status = await statusOf(path);
    const reached = api.heads.slice(before);
    expect({ path, status, reached }).toEqual({ path, status: 404, reached: [] });
  });

  it.each([
    ["/portal/posts?filter=a/../../b", "/api/posts?filter=a/../../b"],
    ["/portal/posts/../tags", "/api/tags"],
    ["/portal/", "/api/"],
  ])("%s reaches %s", async (path, reached) => {
    expect(await statusOf(path)).toBe(200);
    expect(api.heads.at(-1)).toBe(`GET ${reached}`);
  });

  it("an API that goes before it answers is a 502, also in the middle of an upload", async () => {
    api.onHead("POST /api/posts", (request) => void request.socket.destroy());
    const body = Buffer.alloc(5_000_000);
    for (let round = 0; round < 2; round++) {
      const answer = await fetch(`${app.url}/portal/posts`, { method: "POST", body });
      expect([answer.status, await answer.text()]).toEqual([502, "The API can not be reached."]);
    }
  });
});
