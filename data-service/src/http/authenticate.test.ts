// Who asks: by which header, and with which refusals (contract 3.2).
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer, request as httpRequest, type OutgoingHttpHeaders, type Server } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { errorHandler, requestContext } from "@portico/shared/http-context";
import { makeLogger } from "@portico/shared/logger";
import { ProvedClients } from "@portico/shared/proved-clients";
import express from "express";
import { makeAccessTokens } from "../auth/access-token.js";
import { type ApiToken, hashOfApiToken, makeApiTokenText } from "../auth/api-token.js";
import { makeApiTokenCache } from "../auth/api-token-cache.js";
import { makeKeyRing, memoryAudit, openThrottle } from "../auth/auth-fixture.js";
import type { LogInUser } from "../auth/log-in.js";
import { makePasswordHasher } from "../auth/password-hasher.js";
import { makeRefreshTokens } from "../auth/refresh-token.js";
import { authRoutes } from "../auth/routes.js";
import { FIRST_EPOCH, type Session } from "../auth/session.js";
import { type ActiveUser, makeSessionCache } from "../auth/session-cache.js";
import { authenticate, callerOf, currentPrincipal, identify, principalOf } from "./authenticate.js";

const clock = { now: () => new Date() };
const hasher = makePasswordHasher();
const ANN = "64b000000000000000000001";
const ROLE = "64b0000000000000000000aa";
const PASSWORD = "right-password";
const API_TOKEN = makeApiTokenText();
const READ_ONLY = makeApiTokenText();
const EXPIRED = makeApiTokenText();

let server: Server;
let port: number;
let reads: number;
/** Happens while a request lasts. */
let meanwhile: () => void;
const stored = new Map<string, Session>();
/** By their hashes. */
const apiTokens = new Map<string | undefined, ApiToken>();
let active: ActiveUser | undefined;
let user: LogInUser;

const provedClients = new ProvedClients();

beforeAll(async () => {
  user = { id: ANN, passwordHash: await hasher.hash(PASSWORD), isActive: true, epoch: FIRST_EPOCH };
  const keys = await makeKeyRing(generateKeyPairSync("ed25519").privateKey);
  const tokens = {
    access: makeAccessTokens(keys, "http://localhost:3000", 900),
    refresh: makeRefreshTokens(randomBytes(32)),
  };
  const sessions = {
    insert: async (session: Session) => void stored.set(session.id, session),
    find: async (id: string) => {
      reads += 1;
      return stored.get(id);
    },
    rotate: async () => undefined,
    async remove(id: string) {
      const session = stored.get(id);
      stored.delete(id);
      return session;
    },
  };
  const users = {
    findByEmail: async (email: string) => (email === "ann@example.com" ? user : undefined),
    replacePasswordHash: async () => {},
    findActive: async () => active,
    epochOf: async () => FIRST_EPOCH,
  };
  const logger = makeLogger("test", "silent");
  const sessionCache = makeSessionCache({ sessions, users, rootOrigin: null, clock });
  const apiTokenCache = makeApiTokenCache({
    apiTokens: { findByHash: async (hash) => apiTokens.get(hash), noteUse: async () => {} },
    users,
    rootOrigin: null,
    clock,
    logger,
  });
  const proofs = { accessTokens: tokens.access, sessionCache, apiTokenCache, clock, provedClients };
  const app = express();
  app.use(requestContext((path) => `/api${path}`));
  app.use(
    authRoutes({
      appUrl: "https://app.example.com",
      rootOrigin: null,
      sessions,
      users,
      hasher,
      tokens,
      keys,
      clock,
      logger,
      sessionCache,
      identify: identify(proofs),
      throttle: openThrottle,
      audit: memoryAudit().audit,
      digest: (email) => email,
    }),
  );
  app.use(authenticate(proofs));
  app.all("/who", (request, response) => void response.json(principalOf(request)));
  app.all("/who-by-now", async (request, response) => {
    meanwhile();
    response.json({ now: (await currentPrincipal(proofs, request)) ?? null });
  });
  app.all("/who-lasting", async (request, response) => {
    const caller = callerOf(request);
    meanwhile();
    response.json(await caller.now());
  });
  app.use(errorHandler(logger));
  server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

beforeEach(() => {
  reads = 0;
  meanwhile = () => {};
  active = { roleId: ROLE, isRootAdmin: false, epoch: FIRST_EPOCH };
  keepToken(API_TOKEN);
  keepToken(READ_ONLY, { readOnly: true });
  keepToken(EXPIRED, { expiresAt: new Date(0) });
});

function keepToken(text: string, more: Partial<ApiToken> = {}): void {
  const made = { provider: null, origin: null, createdAt: new Date() };
  const token = { id: "t1", userId: ANN, name: "t", readOnly: false, ...made };
  apiTokens.set(hashOfApiToken(text), { ...token, expiresAt: null, lastUsedAt: null, ...more });
}

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: { [key: string]: unknown };
}

function call(
  method: string,
  path: string,
  headers: OutgoingHttpHeaders = {},
  body?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, body: text === "" ? {} : JSON.parse(text) });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const JSON_TYPE = { "Content-Type": "application/json" };
const post = (path: string, body: unknown, headers: OutgoingHttpHeaders = {}) =>
  call("POST", path, { ...JSON_TYPE, ...headers }, JSON.stringify(body));
const logIn = (headers: OutgoingHttpHeaders = {}) =>
  post("/auth/login", { email: "ann@example.com", password: PASSWORD }, headers);

describe("authenticate", () => {
  it("takes nobody for anonymous", async () => {
    expect((await call("GET", "/who")).body).toEqual({ kind: "anonymous", address: "127.0.0.1" });
  });

  it("takes a live session for its user, with the role of the record", async () => {
    const { body } = await logIn();
    const who = await call("GET", "/who", { Authorization: `Bearer ${body.accessToken}` });
    expect(who.body).toEqual({
      kind: "user",
      userId: ANN,
      roleId: ROLE,
      isRootAdmin: false,
      by: { kind: "session", id: expect.stringMatching(/^[\w-]{22}$/), origin: null },
    });
    expect((await call("GET", "/who", { Authorization: `bearer  ${body.accessToken}` })).status).toBe(200);
  });

  it.each<[string, OutgoingHttpHeaders]>([
    ["empty", { Authorization: "" }],
    ["Basic", { Authorization: "Basic YTpi" }],
    ["without token", { Authorization: "Bearer" }],
    ["with a space in the token", { Authorization: "Bearer a b" }],
    ["with garbage", { Authorization: `Bearer ${"a".repeat(400)}` }],
  ])("refuses a header that is %s, at no read", async (_name, headers) => {
    const answer = await call("GET", "/who", headers);
    expect(answer.status).toBe(401);
    expect(answer.headers).toMatchObject({
      "www-authenticate": 'Bearer error="invalid_token"',
      "cache-control": "no-store",
    });
    expect(answer.body.error).toMatchObject({ code: "INVALID_TOKEN" });
    expect(reads).toBe(0);
  });

  it("tells load shedding and the gateway of whom a good token is, and of no other", async () => {
    const { body } = await logIn();
    const ofSession = String(body.accessToken);
    const presented = [ofSession, API_TOKEN, `${API_TOKEN}x`, ofSession.slice(0, -4), EXPIRED];
    const told = [];
    for (const token of presented) {
      const { headers } = await call("GET", "/who", { Authorization: `Bearer ${token}` });
      told.push(headers["x-portico-client"]);
    }
    expect(told).toEqual([ANN, ANN, undefined, undefined, undefined]);
    const [own, apiToken, ...bad] = presented.map((token) => provedClients.clientOf(token, "192.0.2.1"));
    expect([own, apiToken]).toEqual([ANN, ANN]);
    expect(new Set(bad)).toEqual(new Set(["192.0.2.1"]));
  });

  it("refuses two headers, whichever is good", async () => {
    const good = `Bearer ${(await logIn()).body.accessToken}`;
    for (const pair of [
      [good, "Bearer x"],
      ["Bearer x", good],
      [good, good],
    ]) {
      expect((await call("GET", "/who", { Authorization: pair })).status).toBe(401);
    }
  });

  it("refuses a session that was logged out, at once", async () => {
    const { body } = await logIn();
    const bearer = { Authorization: `Bearer ${body.accessToken}` };
    expect((await call("GET", "/who", bearer)).status).toBe(200);
    const out = await post("/auth/logout", { refreshToken: body.refreshToken });
    expect([out.status, out.body]).toEqual([200, { statusCode: 200, message: "Success" }]);
    expect((await call("GET", "/who", bearer)).body.error).toMatchObject({ code: "INVALID_TOKEN" });
  });
});

describe("the auth routes", () => {
  it("log in with the contract's keys at the top level, never cached", async () => {
    const answer = await logIn({
      Authorization: "Bearer ignored",
      "X-Portico-Origin": "https://chat.example.com",
    });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ "cache-control": "no-store" });
    expect(answer.headers).not.toHaveProperty("set-cookie");
    expect(Object.keys(answer.body)).toEqual([
      "statusCode",
      "message",
      "accessToken",
      "refreshToken",
      "expTime",
      "refreshExpTime",
      "loginProvider",
    ]);
    expect([...stored.values()].at(-1)).toMatchObject({
      origin: "https://chat.example.com",
      address: "127.0.0.1",
    });
  });

  it.each(["null", "javascript:alert(1)", "https://chat.example.com/", "https://u@chat.example.com", "chat"])(
    "take no session origin from %s",
    async (origin) => {
      await logIn({ "X-Portico-Origin": origin });
      expect([...stored.values()].at(-1)?.origin).toBeNull();
    },
  );

  const CREDENTIALS = JSON.stringify({ email: "ann@example.com", password: PASSWORD });
  it.each<[string, OutgoingHttpHeaders, string, number, string]>([
    ["text", { "Content-Type": "text/plain" }, CREDENTIALS, 415, "UNSUPPORTED_MEDIA_TYPE"],
    [
      "a form",
      { "Content-Type": "application/x-www-form-urlencoded" },
      "email=a",
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    ["no type", {}, CREDENTIALS, 415, "UNSUPPORTED_MEDIA_TYPE"],
    [
      "UTF-16",
      { "Content-Type": "application/json; charset=utf-16" },
      CREDENTIALS,
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    ["gzip", { ...JSON_TYPE, "Content-Encoding": "gzip" }, CREDENTIALS, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["broken JSON", JSON_TYPE, '{"email":', 400, "BAD_REQUEST"],
    ["a bare value", JSON_TYPE, "1", 400, "VALIDATION_ERROR"],
    ["nothing", {}, "", 400, "VALIDATION_ERROR"],
    ["1 MB", JSON_TYPE, `{"email":"a@b.c","password":"${"a".repeat(1_048_576)}"}`, 413, "PAYLOAD_TOO_LARGE"],
    ["a wrong password", JSON_TYPE, '{"email":"ann@example.com","password":"x"}', 401, "INVALID_CREDENTIALS"],
  ])("refuse %s", async (_name, headers, body, status, code) => {
    const length = { "Content-Length": Buffer.byteLength(body) };
    const answer = await call("POST", "/auth/login", { ...headers, ...length }, body);
    expect([answer.status, answer.body.error]).toEqual([status, expect.objectContaining({ code })]);
  });

  it.each([
    ["GET", "/auth/login", "POST, OPTIONS"],
    ["PUT", "/auth/refresh-token", "POST, OPTIONS"],
    ["GET", "/auth/logout", "POST, OPTIONS"],
    ["POST", "/.well-known/jwks.json", "GET, HEAD, OPTIONS"],
  ])("refuse %s %s and name what is allowed", async (method, path, allow) => {
    const answer = await call(method, path);
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
  });

  it("refuse a log-out with a bad Bearer token", async () => {
    const { body } = await logIn();
    const answer = await post(
      "/auth/logout",
      { refreshToken: body.refreshToken },
      { Authorization: "Bearer x" },
    );
    expect(answer.status).toBe(401);
  });

  it("log out by Bearer token alone", async () => {
    const { body } = await logIn();
    const bearer = { Authorization: `Bearer ${body.accessToken}` };
    expect((await call("POST", "/auth/logout", bearer)).status).toBe(200);
    expect((await call("GET", "/who", bearer)).status).toBe(401);
  });

  it("refuse an unknown refresh token", async () => {
    const answer = await post("/auth/refresh-token", { refreshToken: "x" });
    expect([answer.status, answer.headers["cache-control"]]).toEqual([401, "no-store"]);
  });

  it("publish the keys, cacheable", async () => {
    const answer = await call("GET", "/.well-known/jwks.json");
    expect(answer.headers["cache-control"]).toBe("public, max-age=5");
    expect(answer.body.keys).toEqual([
      expect.objectContaining({ kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig" }),
    ]);
  });
});

describe("an API token", () => {
  const who = (token: string, method = "GET") => call(method, "/who", { Authorization: `Bearer ${token}` });

  it("stands for its user, and has no session", async () => {
    expect((await who(API_TOKEN)).body).toEqual({
      kind: "user",
      userId: ANN,
      roleId: ROLE,
      isRootAdmin: false,
      by: { kind: "apiToken", id: "t1", readOnly: false },
    });
    expect((await who(API_TOKEN, "POST")).status).toBe(200);
  });

  it("that is read-only may do what changes nothing, and is told so otherwise", async () => {
    for (const method of ["GET", "HEAD", "OPTIONS", "QUERY"]) {
      expect((await who(READ_ONLY, method)).status).toBe(200);
    }
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const { status, body } = await who(READ_ONLY, method);
      expect([status, body.message]).toEqual([403, expect.stringContaining("read-only")]);
    }
  });

  it.each([
    ["expired", EXPIRED, "TOKEN_EXPIRED"],
    ["unknown", makeApiTokenText(), "INVALID_TOKEN"],
  ])("that is %s is 401", async (_name, token, code) => {
    const { status, body } = await who(token);
    expect([status, body.error]).toEqual([401, expect.objectContaining({ code })]);
  });
});

describe("the caller of an answer that lasts", () => {
  const ways: [by: string, bearer: () => Promise<string>, end: () => void][] = [
    ["a session", async () => String((await logIn()).body.accessToken), () => stored.clear()],
    ["an API token", newApiToken, () => apiTokens.clear()],
  ];
  /** Of which nothing is remembered yet. */
  async function newApiToken(): Promise<string> {
    const text = makeApiTokenText();
    keepToken(text);
    return text;
  }
  const byNow = async (token: string) => {
    const bearer = { Authorization: `Bearer ${token}` };
    // What this finds is remembered.
    expect((await call("GET", "/who", bearer)).status).toBe(200);
    return (await call("GET", "/who-by-now", bearer)).body.now;
  };

  it.each(ways)("is who they are when nothing has happened: by %s", async (_by, bearer) => {
    expect(await byNow(await bearer())).toMatchObject({ userId: ANN, roleId: ROLE, isRootAdmin: false });
  });

  it.each(ways)("is nobody once that has ended, whatever is remembered: by %s", async (_by, bearer, end) => {
    meanwhile = end;
    expect(await byNow(await bearer())).toBeNull();
  });

  it.each(ways)("is what their record says by now: by %s", async (_by, bearer) => {
    meanwhile = () => {
      active = { roleId: null, isRootAdmin: true, epoch: FIRST_EPOCH };
    };
    expect(await byNow(await bearer())).toMatchObject({ userId: ANN, roleId: null, isRootAdmin: true });
  });

  it("is refused by what ended: a session, or a token that was removed or has expired", async () => {
    const [expiring, removed] = [await newApiToken(), await newApiToken()];
    const session = String((await logIn()).body.accessToken);
    const began = performance.now();
    const time = jest.spyOn(performance, "now").mockReturnValue(began);
    const refusalOf = async (token: string) => {
      time.mockReturnValue(began);
      const { body } = await call("GET", "/who-lasting", { Authorization: `Bearer ${token}` });
      return [body.statusCode, body.error];
    };
    meanwhile = () => {
      time.mockReturnValue(began + 5_000);
      keepToken(expiring, { expiresAt: new Date(0) });
      apiTokens.delete(hashOfApiToken(removed));
      stored.clear();
    };
    try {
      const refused = (code: string, message: string) => [401, expect.objectContaining({ code, message })];
      expect(await refusalOf(session)).toEqual(refused("INVALID_TOKEN", "Your session has ended."));
      expect(await refusalOf(expiring)).toEqual(refused("TOKEN_EXPIRED", "The access token has expired."));
      expect(await refusalOf(removed)).toEqual(refused("INVALID_TOKEN", "The token is not valid."));
    } finally {
      time.mockRestore();
    }
  });

  it.each(ways)(
    "is remembered for five seconds in all, by whichever requests: by %s",
    async (_by, bearer, end) => {
      const headers = { Authorization: `Bearer ${await bearer()}` };
      const began = performance.now();
      const time = jest.spyOn(performance, "now");
      const after = (ms: number): void => void time.mockReturnValue(began + ms);
      try {
        after(0);
        expect((await call("GET", "/who", headers)).status).toBe(200);
        end();
        after(4_000);
        meanwhile = () => after(4_900);
        expect((await call("GET", "/who-lasting", headers)).body).toMatchObject({ userId: ANN });
        after(4_000);
        meanwhile = () => after(5_000);
        expect((await call("GET", "/who-lasting", headers)).status).toBe(401);
      } finally {
        time.mockRestore();
      }
    },
  );
});
