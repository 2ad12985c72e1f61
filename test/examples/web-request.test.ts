// docs/oauth.md: the proxy of a framework whose handlers take a web Request, run as it stands there.
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startUpstream, type Upstream } from "../gateway/support/upstream.js";
import { projectRoot } from "../support/run-state.js";
import { ADMIN, type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";

type Handler = (event: {
  readonly request: Request;
  readonly url: URL;
  readonly getClientAddress: () => string;
}) => Promise<Response>;

const APP = "http://chat.localhost:4000";

let stack: Stack;
let post: Handler;

/** The sample as a module of its own, with the address that an app has from its settings. */
async function sampleOf(apiUrl: string, folder: string): Promise<{ readonly POST: Handler }> {
  const page = await readFile(join(projectRoot, "docs/oauth.md"), "utf8");
  const sample = /```js\n(\/\/ src\/routes\/portal.*?)```/s.exec(page)?.[1];
  if (sample === undefined) throw new Error("docs/oauth.md has no such sample");
  const file = join(folder, "server.mjs");
  await writeFile(file, sample);
  process.env.API_URL = apiUrl;
  return import(pathToFileURL(file).href);
}

beforeAll(async () => {
  stack = await startStack({ env: { ALLOWED_ORIGINS: `${APP}/portal`, TRUST_PROXY: "loopback" } });
  post = (await sampleOf(stack.gateway.url, stack.dataDir)).POST;
});
afterAll(() => stack?.stop());

/** What a page of the app asks its own server. */
function ask(path: string, init: RequestInit = {}, handler = post): Promise<Response> {
  const url = new URL(`/portal${path}`, APP);
  const headers = {
    Origin: APP,
    "Sec-Fetch-Site": "same-origin",
    "X-Forwarded-For": "203.0.113.9",
    ...init.headers,
  };
  return handler({
    request: new Request(url, { ...init, headers }),
    url,
    getClientAddress: () => "198.51.100.7",
  });
}

function logIn(): Promise<Response> {
  const { email, password } = ADMIN;
  const body = JSON.stringify({ email, password });
  return ask("/login", { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

describe("the proxy for a web Request", () => {
  it("passes a sign-in on, and its cookies back one by one", async () => {
    const answer = await logIn();
    expect(answer.status).toBe(200);
    const names = answer.headers.getSetCookie().map((line) => line.split("=")[0]);
    expect(names).toEqual(["accessToken", "refreshToken", "expTime"]);
  });

  it("tells the address that the framework knows, whatever the browser claims", async () => {
    const cookie = (await logIn()).headers.getSetCookie().map((line) => line.split(";")[0]);
    const answer = await ask("/me/sessions", { headers: { Cookie: cookie.join("; ") } });
    const { data } = await answer.json();
    expect(new Set(data.map(({ address }: { address: string }) => address))).toEqual(
      new Set(["198.51.100.7"]),
    );
  });

  it("leaves redirects to the browser", async () => {
    const redirect = encodeURIComponent(`${APP}/`);
    const answer = await ask(`/auth/google?redirect=${redirect}&cookieBridgePrefix=%2Fportal`);
    expect([answer.status, answer.headers.get("location")]).toEqual([302, expect.stringContaining("google")]);
  });

  it.each([
    ["a navigation that a service worker passes on", "navigate", 302],
    ["not a script", "cors", 400],
  ])("lets start a sign-in: %s", async (_who, mode, status) => {
    const redirect = encodeURIComponent(`${APP}/`);
    const headers = { "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": mode };
    const answer = await ask(`/auth/google?redirect=${redirect}&cookieBridgePrefix=%2Fportal`, { headers });
    expect(answer.status).toBe(status);
  });

  it("reads to its end what the API refuses early, so that a browser gets to read why", async () => {
    let left = 400;
    const body = new ReadableStream({
      async pull(pieces) {
        // As they come from a browser, one after the other.
        await delay(1);
        if (left === 0) return pieces.close();
        left--;
        pieces.enqueue(new Uint8Array(65_536));
      },
    });
    const headers = { "Content-Type": "application/json", "Content-Length": String(left * 65_536) };
    const init: RequestInit & { duplex: "half" } = { method: "POST", headers, body, duplex: "half" };
    const answer = await ask("/posts", init);
    expect(answer.status).toBe(413);
    await until(() => left === 0);
  });
});

describe("what a browser says of its connection to the app", () => {
  let upstream: Upstream;
  let handler: Handler;
  beforeAll(async () => {
    upstream = await startUpstream();
    handler = (await sampleOf(upstream.url, await mkdtemp(join(stack.dataDir, "echo-")))).POST;
  });
  afterAll(() => upstream?.close());

  it.each([
    ["Accept-Encoding", "zstd"],
    ["Connection", "keep-alive, Upgrade"],
    ["Expect", "100-continue"],
    ["HTTP2-Settings", "AAMAAABkAARAAAAA"],
    ["Keep-Alive", "timeout=5"],
    ["Proxy-Connection", "keep-alive"],
    ["TE", "trailers"],
    ["Trailer", "Checksum"],
    ["Transfer-Encoding", "chunked"],
    ["Upgrade", "h2c"],
  ])("keeps %s to itself", async (name, value) => {
    const headersFor = async (headers: Record<string, string>) => {
      const answer = await ask("/posts", { method: "POST", headers, body: "text" }, handler);
      expect([answer.status, upstream.last().body.toString()]).toEqual([200, "text"]);
      return upstream.last().headers;
    };
    expect(await headersFor({ [name]: value })).toEqual(await headersFor({}));
  });

  it("and what the API says of its own stays with the app", async () => {
    upstream.on("GET /api/chunks", (_arrived, response) => {
      response.setHeader("Upgrade", "h2c").write("1");
      response.end("2");
    });
    const { headers } = await ask("/chunks", {}, handler);
    for (const name of ["connection", "keep-alive", "transfer-encoding", "upgrade"])
      expect([name, headers.get(name)]).toEqual([name, null]);
  });

  it("and so does what it says of its host: that it is on https with all below it", async () => {
    upstream.on("GET /api/me", (_arrived, response) => {
      response.setHeader("Strict-Transport-Security", "max-age=31536000; includeSubDomains").end();
    });
    const { status, headers } = await ask("/me", {}, handler);
    expect([status, headers.get("strict-transport-security")]).toEqual([200, null]);
  });
});
