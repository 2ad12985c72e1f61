// Health and metrics of both services: for their operator, in few words, and without a series a client could make.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sendRaw } from "../gateway/support/raw-http.js";
import { startRig } from "../gateway/support/rig.js";
import { type Api, apiOf, asAdmin } from "../support/api.js";
import { freePort } from "../support/free-port.js";
import { projectRoot } from "../support/run-state.js";
import { type Stack, startStack } from "../support/stack.js";
import { until } from "../support/wait.js";
import { type Sample, scrape, total, valuesOf } from "./prometheus.js";

const REQUESTS = "portico_http_request_duration_seconds_count";

let stack: Stack;
let admin: Api;
let gatewayMetrics: string;
/** Before anybody has asked for anything else. */
let atStart: { readonly data: readonly Sample[]; readonly gateway: readonly Sample[] };

beforeAll(async () => {
  const metricsPort = await freePort();
  gatewayMetrics = `http://127.0.0.1:${metricsPort}/metrics`;
  stack = await startStack({
    env: { METRICS_PORT: String(metricsPort), QUERY_PLAN_FEW_PARENTS: "0", QUERY_PLAN_WINDOW_CHILDREN: "0" },
  });
  atStart = { data: await ofData(), gateway: await ofGateway() };
  admin = await asAdmin(stack);
  const title = { name: "title", type: "string" };
  await admin.post("/svc_table", { name: "posts", columns: [title] });
  const relations = [{ name: "post", type: "many-to-one", table: "posts", inverse: "comments" }];
  await admin.post("/svc_table", { name: "comments", columns: [title], relations });
});

afterAll(() => stack.stop());

const ofData = (): Promise<readonly Sample[]> => scrape(`${stack.dataUrl}/metrics`);
const ofGateway = (): Promise<readonly Sample[]> => scrape(gatewayMetrics);

describe("health", () => {
  it.each([
    ["the gateway", "/healthz"],
    ["the gateway", "/readyz"],
    ["the data service", "/healthz"],
    ["the data service", "/readyz"],
  ])("%s answers %s with a status and nothing else", async (service, path) => {
    const base = service === "the gateway" ? stack.appUrl : stack.dataUrl;
    const answer = await fetch(base + path);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ status: expect.stringMatching(/^(ok|ready)$/) });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("x-powered-by")).toBeNull();
    expect((await fetch(base + path, { method: "HEAD" })).status).toBe(200);
  });
});

describe("the gateway's port for metrics", () => {
  it.each(["NONSENSE", "GET /metrics HTTP/1.1\r\nConnection: close"])(
    "refuses %j in our words",
    async (head) => {
      const answer = await sendRaw(gatewayMetrics, `${head}\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 .*"code":"BAD_REQUEST"/s);
    },
  );
});

describe("what operators ask", () => {
  it.each([
    ["healthz", () => stack.appUrl],
    ["readyz", () => stack.appUrl],
    ["healthz", () => stack.dataUrl],
    ["readyz", () => stack.dataUrl],
    ["metrics", () => stack.dataUrl],
    ["metrics", () => new URL(gatewayMetrics).origin],
  ] as const)("is answered like everything else, also when it is refused: %s (%#)", async (name, base) => {
    const headers = { "X-Correlation-ID": "an-operator" };
    for (const path of [`/${name}`, `/${name}/`]) {
      const answer = await fetch(base() + path, { headers });
      expect([path, answer.status]).toEqual([path, 200]);
      expectOurs(answer);
    }
    const refused = await fetch(`${base()}/${name}`, { method: "POST", headers });
    expectOurs(refused);
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    const { error } = JSON.parse(await refused.text());
    expect(error).toMatchObject({ path: `/${name}`, correlationId: "an-operator" });
  });
});

describe("who sees metrics", () => {
  it.each(["/metrics", "/api/metrics", "/api/metrics/", "/api/%6Detrics", "/api/readyz", "/api/healthz"])(
    "nobody finds them at the public address %s",
    async (path) => {
      const response = await fetch(stack.appUrl + path);
      expect(response.status).toBe(404);
      expect(await response.text()).not.toContain("portico_http");
    },
  );

  it("without METRICS_PORT this machine finds them at the gateway's address, by its own name and straight", async () => {
    const local = await startRig();
    try {
      const at = (headers: string, method = "GET") =>
        sendRaw(local.url, `${method} /metrics HTTP/1.1\r\nConnection: close\r\n${headers}\r\n\r\n`);
      expect(await at("Host: localhost:3000")).toContain("portico_http_requests_in_flight");
      expect(await at("Host: localhost", "POST")).toMatch(/^HTTP\/1\.1 405 /);
      for (const headers of ["Host: app.example.com", "Host: localhost\r\nX-Forwarded-For: 1.2.3.4"])
        for (const method of ["GET", "POST"]) expect(await at(headers, method)).toMatch(/^HTTP\/1\.1 404 /);
    } finally {
      await local.stop();
    }
  });

  it("the gateway's own port has them and nothing else", async () => {
    const page = await fetch(gatewayMetrics);
    expect([page.status, page.headers.get("content-type")]).toEqual([
      200,
      expect.stringMatching(/^text\/plain; version=0\.0\.4/),
    ]);
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    const origin = new URL(gatewayMetrics).origin;
    for (const path of ["/", "/api/posts", "/healthz"])
      expect([path, (await fetch(origin + path)).status]).toEqual([path, 404]);
    expect((await fetch(gatewayMetrics, { method: "POST" })).status).toBe(405);
  });
});

describe("requests", () => {
  it("are counted by route pattern, whatever addresses clients make up", async () => {
    const { body } = await admin.post("/posts", { title: "first" });
    const id = body.data[0].id;
    const before = { data: await ofData(), gateway: await ofGateway() };
    await admin.get(`/posts/${id}`);
    await admin.get("/posts");
    for (let at = 0; at < 5; at++) {
      await admin.get(`/made-up-${at}/secret-${at}`);
      await admin.get(`/auth/made-up-${at}/x`);
      await apiOf(stack.appUrl).send("GET", `/api/a/b/c/made-up-${at}`);
    }
    const after = { data: await ofData(), gateway: await ofGateway() };
    const grown = (side: "data" | "gateway", labels: Record<string, string>): number =>
      total(after[side], REQUESTS, labels) - total(before[side], REQUESTS, labels);

    expect(grown("data", { method: "GET", route: "/{table}", status: "2xx" })).toBe(1);
    expect(grown("data", { method: "GET", route: "/{table}/{id}", status: "2xx" })).toBe(1);
    expect(grown("gateway", { method: "GET", route: "/api/{table}/{id}", status: "2xx" })).toBe(1);
    expect(grown("gateway", { method: "GET", route: "/api/auth/…", status: "4xx" })).toBe(5);
    for (const side of ["data", "gateway"] as const) {
      const labels = JSON.stringify(after[side].map((sample) => sample.labels));
      for (const text of [id, "made-up", "secret", "posts"]) expect(labels).not.toContain(text);
    }
  });

  it("that are streams of events are in flight while they last, and no failures when their clients leave", async () => {
    const { body } = await admin.post("/svc_table", { name: "notes", changes: true });
    expect(body.message).toBe("Success");
    const before = { data: await ofData(), gateway: await ofGateway() };
    const { body: login } = await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin);
    const leave = new AbortController();
    const headers = { Authorization: `Bearer ${login.accessToken}` };
    const stream = await fetch(`${stack.appUrl}/api/notes/changes`, { headers, signal: leave.signal });
    expect([stream.status, stream.headers.get("x-accel-buffering")]).toEqual([200, "no"]);
    const inFlight = (look: typeof ofData, wanted: number) =>
      until(
        async () => total(await look(), "portico_http_requests_in_flight"),
        (count) => count === wanted,
      );
    for (const look of [ofData, ofGateway]) await inFlight(look, 1);
    leave.abort();
    for (const [side, look] of [
      ["data", ofData],
      ["gateway", ofGateway],
    ] as const) {
      await inFlight(look, 0);
      const aborted = (samples: readonly Sample[]) => total(samples, REQUESTS, { status: "aborted" });
      expect(aborted(await look())).toBe(aborted(before[side]));
    }
  });

  it("have a method from a fixed list", async () => {
    await apiOf(stack.dataUrl).send("PROPFIND", "/posts");
    const methods = valuesOf(await ofData(), "method");
    expect(methods).toContain("other");
    expect(methods).not.toContain("PROPFIND");
  });

  it("are seen by the gateway on their way to the data service, failures too", async () => {
    const name = "portico_upstream_request_duration_seconds_count";
    const forwarded = { call: "forward", result: "2xx" };
    const before = await ofGateway();
    await admin.get("/posts");
    expect(total(await ofGateway(), name, forwarded) - total(before, name, forwarded)).toBe(1);
    const own = { call: "own", result: "2xx" };
    await fetch(`${stack.appUrl}/readyz`);
    expect(total(await ofGateway(), name, own) - total(before, name, own)).toBe(1);

    await stack.dataService.stop();
    expect((await admin.get("/posts")).status).toBe(502);
    expect(total(await ofGateway(), name, { call: "forward", result: "failed" })).toBe(1);
    await stack.restartDataService();
  });
});

describe("what is counted by a fixed list", () => {
  // Prometheus sees no growth in a series that begins with one: rate() would miss the first event.
  it.each([
    ["data", "portico_cache_lookups_total", "cache", 4],
    ["data", "portico_cache_loads_total", "cache", 4],
    ["data", "portico_query_plans_total", "plan", 6],
    ["data", "portico_account_events_total", "event", 21],
    ["data", "portico_throttled_total", "limit", 4],
    ["data", "portico_shed_requests_total", "reason", 5],
    ["gateway", "portico_shed_requests_total", "reason", 5],
    ["gateway", "portico_upstream_request_duration_seconds_count", "call", 12],
  ] as const)("begins at zero: %s, %s by %s", async (side, name, label, count) => {
    const series = (side === "data" ? atStart.data : atStart.gateway).filter((each) => each.name === name);
    expect(series.filter(({ labels }) => label in labels)).toHaveLength(count);
  });
});

describe("the data service", () => {
  it("tells which way the planner chose", async () => {
    const before = await ofData();
    await admin.get("/posts", { filter: { title: "first" } });
    await admin.get("/comments", { filter: { post: { title: "first" } } });
    await admin.get("/posts", { sort: "-_count(comments)" });
    const after = await ofData();
    for (const plan of ["plain", "keys", "grouped"]) {
      const grown = total(after, "portico_query_plans_total", { plan }) - planned(before, plan);
      expect([plan, grown]).toEqual([plan, 1]);
    }
  });

  it("tells how often its caches were asked, and how often they had to ask the database", async () => {
    const before = await ofData();
    const { body } = await admin.post("/auth/api-tokens", { name: "job", expiresAt: "never" });
    const job = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${body.data[0].token}` });
    await job.get("/posts");
    await job.get("/posts");
    await apiOf(`${stack.appUrl}/api`).get("/posts");
    const after = await ofData();
    const grown = (what: "lookups" | "loads", cache: string): number =>
      total(after, `portico_cache_${what}_total`, { cache }) -
      total(before, `portico_cache_${what}_total`, { cache });
    // The session is asked for with its request, and right before and after the token is made.
    expect([grown("lookups", "sessions"), grown("lookups", "api_tokens")]).toEqual([3, 2]);
    expect(grown("loads", "api_tokens")).toBeGreaterThan(0);
    expect(grown("loads", "rules")).toBeGreaterThan(0);
    expect(grown("lookups", "catalog")).toBeGreaterThanOrEqual(3);
    for (const cache of ["catalog", "rules", "sessions", "api_tokens"])
      expect(grown("loads", cache)).toBeLessThanOrEqual(grown("lookups", cache));
  });

  it("counts sign-ins by their result, and refusals by a limit", async () => {
    const before = await ofData();
    const wrong = { email: "nobody@example.com", password: "wrong password" };
    for (let at = 0; at < 6; at++) await apiOf(stack.appUrl).post("/api/auth/login", wrong);
    await asAdmin(stack);
    const after = await ofData();
    const grown = (name: string, labels: Record<string, string>): number =>
      total(after, name, labels) - total(before, name, labels);
    expect(grown("portico_account_events_total", { event: "sign-in.failed" })).toBe(5);
    expect(grown("portico_account_events_total", { event: "sign-in" })).toBe(1);
    expect(grown("portico_throttled_total", { limit: "sign_in" })).toBe(1);
  });

  it("shows sessions, connections and the event loop's lag", async () => {
    const samples = await ofData();
    expect(total(samples, "portico_live_sessions")).toBeGreaterThan(0);
    expect(total(samples, "portico_mongodb_connections_open")).toBeGreaterThan(0);
    expect(total(samples, "portico_mongodb_connections_in_use")).toBeGreaterThanOrEqual(0);
    expect(total(samples, "portico_mongodb_connections_waiting")).toBe(0);
    expect(total(samples, "portico_mongodb_checkout_seconds_count")).toBeGreaterThan(0);
    for (const name of ["nodejs_eventloop_lag_p99_seconds", "process_resident_memory_bytes"])
      expect(samples.some((sample) => sample.name === name)).toBe(true);
  });
});

describe("the dashboard in ops/", () => {
  let panels: readonly Panel[];
  beforeAll(async () => {
    ({ panels } = JSON.parse(await readFile(join(projectRoot, "ops/grafana-dashboard.json"), "utf8")));
  });

  it("shows nothing as seconds that is counted in something else", () => {
    const wrong = panels.flatMap(({ title, targets, fieldConfig: { defaults, overrides } }) => {
      const own = new Set(overrides.map(({ matcher }) => matcher.options));
      const isWrong = ({ expr, refId }: Target) => !/_seconds(?:_bucket)?\b/.test(expr) && !own.has(refId);
      return defaults.unit === "s" && targets.some(isWrong) ? [title] : [];
    });
    expect(wrong).toEqual([]);
  });

  it("asks for nothing that no service shows", async () => {
    const asked = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join("\n");
    const names = new Set(asked.match(/\b(portico|nodejs|process)_\w+/g));
    expect(names.size).toBeGreaterThan(15);
    const shown = await Promise.all([gatewayMetrics, `${stack.dataUrl}/metrics`].map(textOf));
    // A counter that has counted nothing yet is declared all the same.
    const declared = new Set(
      shown.flatMap((text) =>
        [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = "", type]) =>
          type === "histogram" ? [`${name}_bucket`, `${name}_count`] : [name],
        ),
      ),
    );
    expect([...names].filter((name) => !declared.has(name))).toEqual([]);
  });
});

function expectOurs({ headers }: Response): void {
  expect(headers.get("x-correlation-id")).toBe("an-operator");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("cache-control")).toBe("no-store");
}

interface Target {
  readonly refId: string;
  readonly expr: string;
}

interface Panel {
  readonly title: string;
  readonly targets: readonly Target[];
  readonly fieldConfig: {
    readonly defaults: { readonly unit: string };
    readonly overrides: readonly { readonly matcher: { readonly options: string } }[];
  };
}

async function textOf(url: string): Promise<string> {
  return (await fetch(url)).text();
}

function planned(samples: readonly Sample[], plan: string): number {
  return total(samples, "portico_query_plans_total", { plan });
}
