// Traces: one request is one trace, from the gateway through the data service to MongoDB, and tells no secret.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startRig } from "../gateway/support/rig.js";
import { type Api, apiOf, asAdmin } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";
import { type Collector, type ReceivedSpan, startCollector } from "./collector.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const SECRET = "needle-in-a-filter";

let collector: Collector;
let stack: Stack;
let token: string;
let id: string;

beforeAll(async () => {
  collector = await startCollector();
  const OTEL_RESOURCE_ATTRIBUTES = "deployment.environment.name=test,service.name=other";
  const OTEL_EXPORTER_OTLP_ENDPOINT = `${collector.url}/`;
  stack = await startStack({ env: { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_RESOURCE_ATTRIBUTES } });
  const admin: Api = await asAdmin(stack);
  await admin.post("/svc_table", { name: "posts", columns: [{ name: "title", type: "string" }] });
  id = (await admin.post("/posts", { title: SECRET })).body.data[0].id;
  token = (await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin)).body.accessToken;
  const headers = { Authorization: `Bearer ${token}`, traceparent: `00-${TRACE}-${CALLER}-01` };
  const caller = apiOf(`${stack.appUrl}/api`, headers);
  const filter = { title: { _eq: SECRET } };
  expect((await caller.get("/posts", { filter })).body.data).toHaveLength(1);
  await apiOf(`${stack.appUrl}/api`).get(`/posts/${id}`);
  await fetch(`${stack.appUrl}/readyz`);
  // A service that stops sends what is waiting.
  await stack.stop();
});

afterAll(() => collector.close());

const childrenOf = (parent: ReceivedSpan | undefined): readonly ReceivedSpan[] =>
  collector.spans().filter(({ parentSpanId }) => parentSpanId === parent?.spanId);

describe("a request", () => {
  it("is one trace: caller, gateway, data service, MongoDB", () => {
    const mine = collector.spans().filter(({ traceId }) => traceId === TRACE);
    const atGateway = mine.find(({ parentSpanId }) => parentSpanId === CALLER);
    expect(atGateway).toMatchObject({ service: "portico-gateway", name: "GET /api/{table}" });
    const [call] = childrenOf(atGateway);
    expect(call).toMatchObject({ service: "portico-gateway", name: "data-service forward" });
    const [served] = childrenOf(call);
    expect(served).toMatchObject({
      service: "portico-data-service",
      name: "GET /{table}",
      attributes: { "http.route": "/{table}", "http.response.status_code": 200 },
    });
    expect(childrenOf(served)).toContainEqual(
      expect.objectContaining({
        name: "find posts",
        attributes: expect.objectContaining({
          "db.system.name": "mongodb",
          "db.operation.name": "find",
          "db.collection.name": "posts",
        }),
      }),
    );
  });

  it("without a trace of its caller's begins one", () => {
    const served = collector.spans().filter(({ name }) => name === "GET /{table}/{id}");
    expect(served).toHaveLength(1);
    expect(served[0]?.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(served[0]?.traceId).not.toBe(TRACE);
    const gateway = collector
      .spans()
      .filter(({ traceId, service }) => traceId === served[0]?.traceId && service === "portico-gateway");
    expect(gateway.map(({ name }) => name).sort()).toEqual(["GET /api/{table}/{id}", "data-service forward"]);
  });
});

describe("the gateway", () => {
  it("hands its own span on to the data service, and of the client's headers no baggage", async () => {
    const rig = await startRig({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const traceparent = `00-${TRACE}-${CALLER}-01`;
    await rig.call("/api/posts", { headers: { traceparent, baggage: "secret=1" } });
    const { headers } = rig.upstream.last();
    expect(headers.traceparent).toMatch(new RegExp(`^00-${TRACE}-(?!${CALLER})[0-9a-f]{16}-01$`));
    expect(headers.baggage).toBeUndefined();
    await rig.stop();
  });
});

describe("a service", () => {
  it.each(["portico-gateway", "portico-data-service"])("says which one it is: %s", (name) => {
    expect(collector.resources()).toContainEqual({
      "service.name": name,
      "service.instance.id": expect.stringMatching(/^[0-9a-f-]{36}$/),
      "deployment.environment.name": "test",
      "telemetry.sdk.language": "nodejs",
      "telemetry.sdk.name": "opentelemetry",
      "telemetry.sdk.version": expect.any(String),
    });
  });
});

describe("spans", () => {
  it("hold no token, password, body, operand or id", () => {
    expect(collector.spans().length).toBeGreaterThan(10);
    const text = collector.text();
    for (const secret of [token, stack.admin.password, stack.admin.email, SECRET, id])
      expect(text.includes(secret)).toBe(false);
  });

  it("are made for requests only, not for what a service does by itself", () => {
    const roots = collector.spans().filter(({ parentSpanId }) => !parentSpanId);
    expect(roots.filter(({ name }) => !/^(GET|POST) \/api/.test(name))).toEqual([]);
  });
});
