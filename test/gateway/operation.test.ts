// The gateway as its operator sees it: health, logs, a clean stop, clear refusals to start, pages.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { freePort } from "../support/free-port.js";
import { openSocket, sendRaw, statuses } from "./support/raw-http.js";
import { cookies, type Rig, readError, startRig } from "./support/rig.js";
import { accessToken } from "./support/tokens.js";
import { json, startUpstream, type Upstream } from "./support/upstream.js";

const MAIN = fileURLToPath(import.meta.resolve("@portico/gateway/main"));

describe("health", () => {
  it("says that the process runs, and whether it can serve", async () => {
    const rig = await startRig({}, { readyTimeoutMs: 200 });
    rig.upstream.on("GET /readyz", json(200, { status: "ready" }));
    const alive = await rig.call("/healthz");
    expect([alive.status, await alive.json()]).toEqual([200, { status: "ok" }]);
    expect((await rig.call("/readyz")).status).toBe(200);

    rig.upstream.on("GET /readyz", json(503, {}));
    const unready = await rig.call("/readyz");
    expect(unready.status).toBe(503);
    expect(unready.headers.get("retry-after")).toBe("5");
    expect((await readError(unready)).error.code).toBe("SERVICE_UNAVAILABLE");

    rig.upstream.on("GET /readyz", () => {});
    expect((await rig.call("/readyz")).status).toBe(503);
    await rig.upstream.close();
    expect((await rig.call("/readyz")).status).toBe(503);
    expect((await rig.call("/healthz")).status).toBe(200);
    await rig.stop();
  });
});

describe("stopping", () => {
  it("takes nobody new, finishes what is in flight, and closes kept-alive connections", async () => {
    const rig = await startRig();
    let finish = (): void => {};
    const begun = new Promise<void>((resolve) => {
      rig.upstream.on("GET /slow", (_arrived, response) => {
        finish = () => response.end("whole");
        resolve();
      });
    });
    const slow = rig.call("/api/slow");
    await begun;
    const idle = await openSocket(rig.url);
    const idleClosed = once(idle.resume(), "close");
    const stopped = rig.stop();
    await idleClosed;
    await expect(refusedConnection(rig.url)).resolves.toBe("ECONNREFUSED");
    finish();
    const response = await slow;
    expect(response.headers.get("connection")).toBe("close");
    expect(await response.text()).toBe("whole");
    const started = Date.now();
    await stopped;
    expect(Date.now() - started).toBeLessThan(5_000);
  });

  it("does not wait for a stream of events that begins only then", async () => {
    const rig = await startRig();
    let begin = (): void => {};
    const asked = new Promise<void>((resolve) => {
      rig.upstream.on("GET /posts/changes", (_arrived, response) => {
        begin = () =>
          void response.writeHead(200, { "Content-Type": "text/event-stream" }).write("event: ready\n\n");
        resolve();
      });
    });
    const stream = rig.call("/api/posts/changes").then(
      (response) => response.text(),
      () => "cut",
    );
    await asked;
    const stopped = rig.stop();
    const started = Date.now();
    begin();
    expect(await stream.catch(() => "cut")).toBe("cut");
    await stopped;
    expect(Date.now() - started).toBeLessThan(5_000);
  });

  it("does not wait for the keep-alive time of an answer that had begun", async () => {
    const rig = await startRig();
    let finish = (): void => {};
    rig.upstream.on("GET /slow", (_arrived, response) => {
      response.write("begun ");
      finish = () => response.end("ended");
    });
    const response = await rig.call("/api/slow");
    const stopped = rig.stop();
    finish();
    expect(await response.text()).toBe("begun ended");
    const started = Date.now();
    await stopped;
    expect(Date.now() - started).toBeLessThan(5_000);
  });
});

function refusedConnection(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    connect(Number(port), hostname, () => resolve("connected")).once(
      "error",
      (error: NodeJS.ErrnoException) => resolve(error.code ?? ""),
    );
  });
}

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

function runGateway(env: Record<string, string>): Run {
  const child = spawn(process.execPath, [MAIN], { env: { ...env, PATH: process.env.PATH ?? "" } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => {
      output += chunk;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  return { child, output: () => output, ended };
}

/** The address, once the process says that it listens. */
async function listeningUrl(run: Run): Promise<string> {
  for (let tries = 0; tries < 500; tries++) {
    const url = /"url":"(http:[^"]+)"/.exec(run.output())?.[1];
    if (url !== undefined) return url;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`not listening: ${run.output()}`);
}

describe("the process", () => {
  let upstream: Upstream | undefined;
  afterEach(() => upstream?.close());

  it("logs each request as one JSON line with its id, and no secret", async () => {
    upstream = await startUpstream();
    const run = runGateway({ PORT: "0", DATA_SERVICE_URL: upstream.url });
    const url = await listeningUrl(run);
    const token = accessToken();
    await fetch(`${url}/api/posts?code=secret-code`, {
      headers: {
        Cookie: cookies({ accessToken: token, refreshToken: "svc_rt_secret" }),
        "X-Correlation-ID": "trace-1",
      },
    });
    await fetch(`${url}/api/posts`, { headers: { Authorization: "Bearer secret-bearer" } });
    await upstream.close();
    await fetch(`${url}/api/posts?state=secret-state`, { headers: { "X-Correlation-ID": "trace-2" } });
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);

    const lines = run
      .output()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.find((line) => line.correlationId === "trace-1")).toMatchObject({
      service: "gateway",
      level: "info",
      method: "GET",
      path: "/api/posts",
      status: 200,
    });
    const failed = lines.filter((line) => line.correlationId === "trace-2").map((line) => line.level);
    expect(failed.sort()).toEqual(["error", "info"]);
    for (const secret of [token, "svc_rt_secret", "secret-"]) expect(run.output()).not.toContain(secret);
  });

  it("logs no probe that was answered, but one that was refused by its request line", async () => {
    upstream = await startUpstream();
    upstream.on("GET /readyz", json(200, { status: "ready" }));
    const run = runGateway({ PORT: "0", DATA_SERVICE_URL: upstream.url });
    const url = await listeningUrl(run);
    for (const path of ["/healthz", "/readyz", "/healthz/"])
      expect((await fetch(url + path)).status).toBe(200);
    await sendRaw(url, "GET /healthz HTTP/1.0\r\nHost: refused\r\n\r\n");
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);
    await upstream.close();
    const told = [...run.output().matchAll(/"path":"([^"]+)","status":(\d+)/g)];
    expect(told.map(([, path, status]) => [path, status])).toEqual([["/healthz", "400"]]);
  });

  it("names every wrong setting in one line each and ends with 1", async () => {
    const run = runGateway({ PORT: "eighty", APP_URL: "localhost", TRUST_PROXY: "true" });
    expect(await run.ended).toBe(1);
    expect(run.output().trim().split("\n")).toEqual([
      expect.stringMatching(/^APP_URL must be /),
      expect.stringMatching(/^PORT must be /),
      expect.stringMatching(/^TRUST_PROXY must be /),
    ]);
  });

  it("says in one sentence that its port is taken", async () => {
    upstream = await startUpstream();
    const run = runGateway({ PORT: new URL(upstream.url).port });
    expect(await run.ended).toBe(1);
    expect(run.output().trim()).toMatch(/^Port \d+ on 127\.0\.0\.1 is in use; .* PORT\.$/);
  });

  it("says which of its own settings name the same port", async () => {
    upstream = await startUpstream();
    const [taken, free] = [new URL(upstream.url).port, String(await freePort())];
    const said = async (env: Record<string, string>): Promise<string> => {
      const run = runGateway({ DATA_SERVICE_URL: String(upstream?.url), PORT: "0", ...env });
      expect(await run.ended).toBe(1);
      // It logs on another stream that the metrics are shown, and either may come first.
      return (
        run
          .output()
          .split("\n")
          .find((line) => line.startsWith("Port ")) ?? run.output()
      );
    };
    const same = (port: string, first: string, second: string) =>
      `Port ${port} on 127.0.0.1 is in use: ${first} and ${second} name the same one; give each its own.`;
    expect(await said({ PORT: taken })).toBe(same(taken, "PORT", "DATA_SERVICE_PORT"));
    expect(await said({ METRICS_PORT: taken })).toBe(same(taken, "METRICS_PORT", "DATA_SERVICE_PORT"));
    expect(await said({ PORT: free, METRICS_PORT: free })).toBe(same(free, "PORT", "METRICS_PORT"));
  });
});

/** As build tools name what never changes. */
const VERSIONED = [
  "assets/index-B4x9f_2a.js",
  "assets/inter-Dx4bH7kQ.woff2",
  "_nuxt/entry.Bx8Kq2Zw.css",
  "main-5XK2QHDN.js",
  "main.1a2b3c4d.js.map",
  "photo.0123456789abcdef.png",
];

/** Names with a number in them that is no hash of the content. */
const UNVERSIONED = [
  "theme-Autumn24.css",
  "client-OpenApi3.js",
  "module-2024_MAY.js",
  "main-Q3Report.js",
  "app-VERSION2.js",
  "assets/fonts/Inter-Medium18.woff2",
  "assets/module-2024_MAY.js",
  "icon-512x512.png",
  "terms-2024-05-01.pdf",
  "photo-IMG_2024.jpg",
  "a-Report24.pdf",
  "a.20240501.js",
];

describe("a single-page app in STATIC_DIR", () => {
  let rig: Rig;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "portico-app-"));
    // Build tools put it into folders of such names.
    const directory = join(folder, ".output");
    await mkdir(directory);
    await writeFile(join(directory, "index.html"), "<title>app</title>");
    for (const folder of ["assets/fonts", "_nuxt"]) await mkdir(join(directory, folder), { recursive: true });
    for (const name of [...VERSIONED, ...UNVERSIONED]) await writeFile(join(directory, name), "1");
    await writeFile(join(directory, ".env"), "SECRET=1");
    await mkdir(join(directory, ".well-known", "pki"), { recursive: true });
    await writeFile(join(directory, ".well-known", "security.txt"), "Contact: mailto:a@example.com");
    await writeFile(join(directory, ".well-known", "pki", "token"), "t");
    await writeFile(join(directory, ".well-known", ".env"), "SECRET=1");
    rig = await startRig({ STATIC_DIR: directory });
  });
  afterAll(async () => {
    await rig.stop();
    await rm(folder, { recursive: true });
  });
  const page = { headers: { Accept: "text/html,*/*" } };

  it("may open windows and says where its requests come from, which pages of the API don't", async () => {
    const policies = async (path: string) => {
      const { headers } = await rig.call(path, page);
      return [headers.get("cross-origin-opener-policy"), headers.get("referrer-policy")];
    };
    const ofTheApp = ["same-origin-allow-popups", "strict-origin-when-cross-origin"];
    for (const path of ["/", "/orders/7", "/main-5XK2QHDN.js"])
      expect(await policies(path)).toEqual(ofTheApp);
    for (const path of ["/api/docs", "/assets/1"])
      expect(await policies(path)).toEqual(["same-origin", "no-referrer"]);
  });

  it("is served with its history, and never in place of the API or an asset", async () => {
    for (const path of ["/", "/orders/7", "/index.html"]) {
      const response = await rig.call(path, page);
      expect([path, response.status, await response.text()]).toEqual([path, 200, "<title>app</title>"]);
      expect(response.headers.get("cache-control")).toBe("no-cache");
      expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    }
    for (const path of ["/api", "/assets/1", "/.env/../x.png"]) {
      expect([path, (await rig.call(path, page)).status]).toEqual([
        path,
        path === "/.env/../x.png" ? 200 : 404,
      ]);
    }
    expect(await (await rig.call("/.env", page)).text()).not.toContain("SECRET");
    const without = async (Accept: string, path: string) =>
      (await rig.call(path, { headers: { Accept } })).status;
    expect(await without("*/*", "/orders/7")).toBe(200);
    for (const Accept of ["*/*", "image/avif,*/*;q=0.8"])
      expect(await without(Accept, "/missing.js")).toBe(404);
    expect(await without("application/json", "/orders/7")).toBe(404);
    const script = { headers: { Accept: "*/*", "Sec-Fetch-Dest": "empty" } };
    expect((await rig.call("/orders/7", script)).status).toBe(404);
    // It may have a page of this name, which only a browser asks for.
    expect(await (await rig.call("/metrics", page)).text()).toBe("<title>app</title>");
    expect(await (await rig.call("/metrics")).text()).toContain("portico_http");
    expect((await rig.call("/orders", { method: "POST" })).status).toBe(404);
    const etag = (await rig.call("/")).headers.get("etag");
    const again = await sendRaw(rig.url, `GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: ${etag}\r\n\r\n`);
    expect(statuses(again)).toEqual([304]);
  });

  it("opens at addresses whose names hold a slash, are empty or badly encoded; calls of the API stay refused", async () => {
    const answers = async (path: string, Accept = "text/html", method = "GET") =>
      sendRaw(
        rig.url,
        `${method} ${path} HTTP/1.1\r\nHost: a\r\nAccept: ${Accept}\r\nConnection: close\r\n\r\n`,
      );
    for (const path of [
      "/search/AC%2FDC",
      "/search//x?page=2",
      "/caf%E9",
      "/a%5Cb",
      "/x/..%2fmain.1a2b3c4d.js.map",
    ]) {
      const answer = await answers(path);
      expect([path, statuses(answer), answer.split("\r\n\r\n")[1]]).toEqual([
        path,
        [200],
        "<title>app</title>",
      ]);
      expect(answer).toMatch(/^Vary: Accept\r$/im);
      expect(answer).toMatch(/^Referrer-Policy: strict-origin-when-cross-origin\r$/im);
      expect(statuses(await answers(path, "application/json"))).toEqual([400]);
      expect(statuses(await answers(path, "text/html", "POST"))).toEqual([400]);
    }
    const elsewhere = [
      "/api/a%2Fb",
      "/%61pi/a%2Fb",
      "/api%2Fa",
      "/api//me",
      "/assets/a%2Fb",
      "//evil.com/x",
      "/\\evil.com",
    ];
    for (const path of [...elsewhere, "/.well-known/a%2Fb", "/..%2fapi/me", "http://evil.com/x"])
      expect([path, statuses(await answers(path))]).toEqual([path, [400]]);
    expect(rig.upstream.heads).toEqual([]);
  });

  it("is kept for a year where a name holds a build tool's hash, and asked after each time where it does not", async () => {
    const keptAs = async (name: string) => {
      const { status, headers } = await rig.call(`/${name}`);
      return [name, status, headers.get("cache-control")];
    };
    for (const name of VERSIONED)
      expect(await keptAs(name)).toEqual([name, 200, "public, max-age=31536000, immutable"]);
    for (const name of UNVERSIONED) expect(await keptAs(name)).toEqual([name, 200, "no-cache"]);
  });

  it("has a .well-known, in which nothing is a page of the app; no other name with a dot is served", async () => {
    for (const Accept of ["*/*", page.headers.Accept]) {
      const found = async (path: string) => {
        const response = await rig.call(`/.well-known${path}`, { headers: { Accept } });
        return response.status === 200 ? response.text() : response.status;
      };
      expect(await found("/security.txt")).toBe("Contact: mailto:a@example.com");
      expect(await found("/pki/token")).toBe("t");
      for (const path of ["/change-password", "", "/", "/.env", "/pki/.env"])
        expect([path, await found(path)]).toEqual([path, 404]);
    }
    const { headers } = await rig.call("/.well-known/security.txt");
    expect([headers.get("content-type"), headers.get("cache-control")]).toEqual([
      "text/plain; charset=utf-8",
      "no-cache",
    ]);
  });

  it.each([
    ["/", { Range: "bytes=99999999-" }, 416, "RANGE_NOT_SATISFIABLE"],
    ["/", { "If-Match": '"other"' }, 412, "PRECONDITION_FAILED"],
    ["/orders/7", { "If-Match": '"other"' }, 412, "PRECONDITION_FAILED"],
    ["/api/docs", { "If-Match": '"other"' }, 412, "PRECONDITION_FAILED"],
  ])("and what Portico serves besides: %s with %j is %d", async (path, headers, status, code) => {
    const response = await rig.call(path, { headers: { ...page.headers, ...headers } });
    expect([response.status, (await readError(response)).error.code]).toEqual([status, code]);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    for (const name of ["etag", "last-modified", "accept-ranges"])
      expect([name, response.headers.get(name)]).toEqual([name, null]);
  });
});

describe("a deployed page", () => {
  const BUILDS = ["<script src=/assets/a-Bx8Kq2Zw.js>", "<script src=/assets/a-DiwrgTda.js>"] as const;
  const PAGES = ["index.html", "about/index.html", "imprint.html", "sw.js", "ngsw.json"];
  const ADDRESSES = ["/", "/index.html", "/orders/7", "/about/", "/imprint.html", "/sw.js", "/ngsw.json"];
  let directory: string;
  let rig: Rig;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "portico-app-"));
    await mkdir(join(directory, "about"));
    await deploy(BUILDS[0], new Date());
    rig = await startRig({ STATIC_DIR: directory });
  });
  afterAll(async () => {
    await rig.stop();
    await rm(directory, { recursive: true });
  });

  async function deploy(content: string, time: Date): Promise<void> {
    for (const page of PAGES) {
      await writeFile(join(directory, page), content);
      await utimes(join(directory, page), time, time);
    }
  }

  /** As a browser asks; `fetch` would say that it takes nothing it has. */
  async function ask(path: string, ...conditions: string[]): Promise<string> {
    const lines = ["Host: a", "Accept: text/html", "Connection: close", ...conditions];
    return sendRaw(rig.url, `GET ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  }

  /** What a browser that has this answer asks with. */
  const conditionsOf = (answer: string): string[] =>
    [
      ["If-None-Match", /^ETag: (.*)\r$/im.exec(answer)?.[1]],
      ["If-Modified-Since", /^Last-Modified: (.*)\r$/im.exec(answer)?.[1]],
    ].flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));

  it.each([
    ["goes back to an older build", new Date("2001-01-01"), `${BUILDS[1]} once more`],
    ["is built with fixed times, and as long as before", new Date("1980-01-01"), BUILDS[1]],
  ])("that %s reaches browsers that have another, and is not sent twice", async (_what, time, next) => {
    for (const path of ADDRESSES) {
      await deploy(BUILDS[0], time.getFullYear() === 1980 ? time : new Date());
      const conditions = conditionsOf(await ask(path));
      expect([path, statuses(await ask(path, ...conditions))]).toEqual([path, [304]]);
      await deploy(next, time);
      expect([path, statuses(await ask(path, ...conditions))]).toEqual([path, [200]]);
      expect(await ask(path, ...conditions)).toContain(next);
    }
  });

  it.each(["/", "/orders/7", "/sw.js", "/theme.woff2", "/api/docs", "/api/docs/docs.css"])(
    "at %s has no time that could be asked for",
    async (path) => {
      await writeFile(join(directory, "theme.woff2"), "1");
      for (const time of ["Sat, 01 Jan 2000 00:00:00 GMT", "Sun, 01 Jan 2040 00:00:00 GMT"])
        expect(statuses(await ask(path, `If-Unmodified-Since: ${time}`))).toEqual([200]);
    },
  );

  it.each(["/api/docs", "/api/docs/docs.js"])(
    "and %s are told apart by their content alone",
    async (path) => {
      const answer = await ask(path);
      expect(conditionsOf(answer)).toEqual([expect.stringMatching(/^If-None-Match: "[\w-]{43}"$/)]);
      expect(statuses(await ask(path, ...conditionsOf(answer)))).toEqual([304]);
      expect(statuses(await ask(path, "If-Modified-Since: Sun, 01 Jan 2040 00:00:00 GMT"))).toEqual([200]);
    },
  );
});

describe("the page of the API", () => {
  it.each(["", "/docs.js"])("is sent whole, whatever part of it is asked for: /api/docs%s", async (file) => {
    const rig = await startRig();
    const response = await rig.call(`/api/docs${file}`, { headers: { Range: "bytes=0-9" } });
    const { length } = await response.text();
    await rig.stop();
    expect([response.status, response.headers.get("accept-ranges"), length > 10]).toEqual([200, null, true]);
  });
});
