// The calls of the gateway to the data service: nobody else reaches them, by the proxy or directly.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { makeAssertions } from "@portico/shared/assertion";
import { INTERNAL_PATHS } from "@portico/shared/internal-api";
import { sendRaw, statuses } from "../gateway/support/raw-http.js";
import { apiOf } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const SERVICE_SECRET = "a service secret of the tests, long enough";

let stack: Stack;
let accessToken: string;

beforeAll(async () => {
  stack = await startStack({ env: { SERVICE_SECRET } });
  accessToken = (await apiOf(stack.dataUrl).post("/auth/login", stack.admin)).body.accessToken;
});
afterAll(() => stack?.stop());

const call = (path: string, token?: string, method = "POST") =>
  apiOf(stack.dataUrl).send(method, path, {
    headers: {
      "Content-Type": "application/json",
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    ...(method === "POST" ? { body: "{}" } : {}),
  });
const assertion = (path: string, at = new Date(), secret = SERVICE_SECRET, method = "POST") =>
  makeAssertions(secret).sign({ method, path }, at);

describe("through the proxy", () => {
  it.each([
    "/api/internal",
    "/api/internal/",
    ...Object.values(INTERNAL_PATHS).map((path) => `/api${path}`),
    "/api/%69nternal/oauth/redeem",
    "/api/internal%2foauth/redeem",
    "/api/./internal/oauth/redeem",
    "/api/x/../internal/oauth/redeem",
    "/api/%2e/internal/oauth/redeem",
    "/api//internal/oauth/redeem",
    "/api/internal;x/oauth/redeem",
    "/api/Internal/oauth/redeem",
    "/api\\internal/oauth/redeem",
    "//internal/oauth/redeem",
    "/api/internal/oauth/redeem?x=1",
  ])("E2 %s leads nowhere, with an assertion, too", async (path) => {
    const token = await assertion(INTERNAL_PATHS.redeem);
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`;
    const received = await sendRaw(
      stack.appUrl,
      `${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    );
    const [status] = statuses(received);
    // Where the path is none of ours any more, the assertion is a bad token like any other.
    expect([400, 401, 404]).toContain(status);
    if (/^\/api\/(?:i|%69)nternal(?:[/?]|$)/.test(path)) expect(status).toBe(404);
    expect(received).not.toContain("refused");
  });
});

describe("directly", () => {
  it.each(Object.values(INTERNAL_PATHS))("E2 %s takes a fresh assertion for itself alone", async (path) => {
    // 400: let in, and then the empty body is none of the gateway's.
    expect((await call(path, await assertion(path))).status).toBe(400);
    expect((await call(path)).status).toBe(401);
    expect((await call(path, accessToken)).status).toBe(401);
    expect((await call(path, "x.y.z")).status).toBe(401);
    expect((await call(path, await assertion(path, new Date(Date.now() - 120_000)))).status).toBe(401);
    expect((await call(path, await assertion("/internal/oauth/other"))).status).toBe(401);
    expect((await call(path, await assertion(path, new Date(), SERVICE_SECRET, "GET"))).status).toBe(401);
    expect((await call(path, await assertion(path, new Date(), `${SERVICE_SECRET}!`))).status).toBe(401);
    expect((await call(`${path}?x=1`, await assertion(path))).status).toBe(401);
  });

  it("E2 an unknown path below /internal tells nothing without an assertion", async () => {
    expect((await call("/internal/none")).status).toBe(401);
    expect((await call("/internal", undefined, "GET")).status).toBe(401);
    expect((await call("/internal/none", await assertion("/internal/none"))).status).toBe(404);
  });

  it("an assertion is no token for anything else", async () => {
    for (const path of ["/me", "/svc_user", "/auth/logout"]) {
      const method = path === "/auth/logout" ? "POST" : "GET";
      const token = await assertion(path, new Date(), SERVICE_SECRET, method);
      expect([path, (await call(path, token, method)).status]).toEqual([path, 401]);
    }
  });
});
