// Contract 3.1 and 3.2: signing in and out, tokens, and who /me says one is.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLocalJWKSet, decodeProtectedHeader, errors, jwtVerify } from "jose";
import { MongoClient } from "mongodb";
import { type Answer, type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { allowAll } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { atOnce, make, makeTable, type Row, read, tally, valuesOf } from "../records/make.js";
import { Browser, setCookies } from "./jar.js";

const ANN = { email: "ann@example.com", password: "ann's password", name: "Ann" };
const DAY_MS = 24 * 60 * 60 * 1000;

let stack: Stack;
let admin: Api;
let anyone: Api;
let editor: string;
let addresses = 0;

beforeAll(async () => {
  stack = await startStack({ env: { TRUST_PROXY: "loopback" } });
  admin = await asAdmin(stack);
  anyone = apiOf(`${stack.appUrl}/api`);
  const role = await make(admin, "svc_role", { name: "Editor", description: "edits" });
  await make(admin, "svc_user", { ...ANN, role: role.id });
  await make(admin, "svc_user", { email: "idle@example.com", password: "idle's password", isActive: false });
  await make(admin, "svc_user", { email: "oauth@example.com" });
  await makeTable(admin, { name: "notes", columns: [{ name: "text", type: "string" }] });
  editor = role.id;
  await allowAll(admin, ["notes"], editor);
});

afterAll(() => stack.stop());

const credentials = ({ email, password }: typeof ANN) => ({ email, password });
const logIn = async (body: object = credentials(ANN)): Promise<Row> =>
  (await anyone.post("/auth/login", body)).body;
const bearer = (token: string) => apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${token}` });
/** A client at an address of its own: failures count per account and address. */
const stranger = (): Api => {
  addresses += 1;
  return apiOf(`${stack.appUrl}/api`, { "X-Forwarded-For": `198.51.100.${addresses}` });
};
const refresh = (refreshToken: unknown): Promise<Answer> =>
  anyone.post("/auth/refresh-token", { refreshToken });

/** Lines of the data service's log with this correlation id; they arrive a moment after the answer. */
const logged = (id: string): string[] =>
  stack.dataService
    .log()
    .split("\n")
    .filter((line) => line.includes(id) && line.endsWith("}"));

describe("POST /auth/login", () => {
  it("answers both tokens and their times, and sets no cookie", async () => {
    const answer = await anyone.post("/auth/login", credentials(ANN));
    expect(setCookies(answer)).toEqual([]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect((await bearer(answer.body.accessToken).get("/me")).status).toBe(200);
  });

  it("gives the access token 15 minutes and the refresh token a day", async () => {
    const { expTime, refreshExpTime } = await logIn();
    expect(expTime - Date.now()).toBeGreaterThan(14 * 60_000);
    expect(expTime - Date.now()).toBeLessThanOrEqual(15 * 60_000);
    expect(Math.abs(refreshExpTime - Date.now() - DAY_MS)).toBeLessThan(10_000);
  });

  it("gives the refresh token seven days with remember", async () => {
    const { refreshExpTime } = await logIn({ ...credentials(ANN), remember: true });
    expect(Math.abs(refreshExpTime - Date.now() - 7 * DAY_MS)).toBeLessThan(10_000);
  });

  it("trims the e-mail and does not mind its case", async () => {
    expect((await logIn({ email: "  ANN@Example.COM ", password: ANN.password })).statusCode).toBe(200);
  });

  it("takes the password exactly", async () => {
    for (const password of [` ${ANN.password}`, ANN.password.toUpperCase(), `${ANN.password} `]) {
      expect((await anyone.post("/auth/login", { email: ANN.email, password })).status).toBe(401);
    }
  });

  it("ignores the Authorization header", async () => {
    const answer = await bearer("nonsense").post("/auth/login", credentials(ANN));
    expect(answer.status).toBe(200);
  });

  it("makes a new session each time", async () => {
    const [first, second] = [await logIn(), await logIn()];
    expect(first.refreshToken).not.toBe(second.refreshToken);
    await anyone.post("/auth/logout", { refreshToken: first.refreshToken });
    expect((await bearer(second.accessToken).get("/me")).status).toBe(200);
  });
});

describe("POST /login", () => {
  it("answers the times and the cookies, and no token in the body", async () => {
    const answer = await new Browser(stack).logIn(credentials(ANN));
    expect(answer.body).toEqual({
      statusCode: 200,
      message: "Success",
      loginProvider: null,
      expTime: expect.any(Number),
      refreshExpTime: expect.any(Number),
    });
    expect(setCookies(answer).map(({ name }) => name)).toEqual(["accessToken", "refreshToken", "expTime"]);
    expect(JSON.stringify(answer.body)).not.toMatch(/eyJ|svc_rt_/);
  });
});

describe("a signed-in browser", () => {
  it("is not refreshed while its access token is young", async () => {
    const browser = new Browser(stack);
    await browser.logIn(credentials(ANN));
    expect(setCookies(await browser.get("/me"))).toEqual([]);
  });

  it("is refreshed once when its access cookie is lost, and not again by the next request", async () => {
    const browser = Browser.with(stack, { refreshToken: (await logIn()).refreshToken });
    expect(setCookies(await browser.get("/me")).length).toBe(3);
    expect(setCookies(await browser.get("/me"))).toEqual([]);
  });
});

describe.each(["/auth/login", "/login"])("the body of POST %s", (path) => {
  it.each([
    ["an unknown key", { ...credentials(ANN), role: "admin" }, ["role"]],
    ["no e-mail", { password: "x" }, ["email"]],
    ["no password", { email: "a@b.example" }, ["password"]],
    ["nothing", {}, ["email", "password"]],
    ["an e-mail that is an operator", { email: { $ne: null }, password: "x" }, ["email"]],
    ["a password that is an operator", { email: ANN.email, password: { $gt: "" } }, ["password"]],
    ["a password in a list", { email: ANN.email, password: [ANN.password] }, ["password"]],
    ["a password that is null", { email: ANN.email, password: null }, ["password"]],
    ["a remember that is text", { ...credentials(ANN), remember: "true" }, ["remember"]],
    ["a remember that is null", { ...credentials(ANN), remember: null }, ["remember"]],
    ["a password of 1,025 characters", { email: ANN.email, password: "x".repeat(1025) }, ["password"]],
    ["several things wrong", { email: 5, password: 5, admin: true }, ["admin", "email", "password"]],
  ])("with %s is refused by field, and sets no cookie", async (_name, body, fields) => {
    const answer = await anyone.post(path, body);
    expect([answer.status, answer.body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(answer.body.message.map((text: string) => text.split(":")[0])).toEqual(fields);
    expect(setCookies(answer)).toEqual([]);
  });

  it.each([[[]], ["text"], [5], [null]])("must be an object, not %j", async (body) => {
    expect((await anyone.post(path, body)).status).toBe(400);
  });
});

describe("wrong credentials", () => {
  const WRONG = {
    "a wrong password": { email: ANN.email, password: "wrong password" },
    "an unknown e-mail": { email: "nobody@example.com", password: "wrong password" },
    "an account without a password": { email: "oauth@example.com", password: "wrong password" },
    "a deactivated account with its right password": {
      email: "idle@example.com",
      password: "idle's password",
    },
  };

  it.each(Object.entries(WRONG))("%s is 401 INVALID_CREDENTIALS without cookies", async (_name, body) => {
    for (const path of ["/auth/login", "/login"]) {
      const answer = await stranger().post(path, body);
      expect([answer.status, answer.body.error.code]).toEqual([401, "INVALID_CREDENTIALS"]);
      expect(setCookies(answer)).toEqual([]);
    }
  });

  it("are answered alike, byte for byte but for time and ids", async () => {
    const texts = await Promise.all(
      Object.values(WRONG).map(async (body) => {
        const answer = await stranger().post("/auth/login", body);
        const { timestamp: _time, correlationId: _id, ...error } = answer.body.error;
        return JSON.stringify({ ...answer.body, error });
      }),
    );
    expect(new Set(texts).size).toBe(1);
  });

  it("take the time of a hash, also for accounts that do not exist", async () => {
    for (let at = 0; at < 4; at += 1) {
      await make(admin, "svc_user", { email: `timed${at}@example.com`, password: "right password" });
    }
    const timeOf = async (body: object) => {
      const started = performance.now();
      expect((await stranger().post("/auth/login", body)).status).toBe(401);
      return performance.now() - started;
    };
    const fastest = { real: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    // In turns, and the fastest of each: what else the machine does falls on both alike.
    const password = "wrong password";
    for (let at = 0; at < 20; at += 1) {
      // Several accounts: from its tenth failure on, one would have to wait.
      const real = { email: `timed${at % 4}@example.com`, password };
      fastest.real = Math.min(fastest.real, await timeOf(real));
      fastest.unknown = Math.min(fastest.unknown, await timeOf({ ...real, email: `no-${real.email}` }));
    }
    expect(fastest.unknown).toBeGreaterThan(fastest.real / 2);
    expect(fastest.unknown).toBeLessThan(fastest.real * 2);
  });
});

describe("the access token", () => {
  it("is an EdDSA at+jwt that the published keys verify", async () => {
    const { accessToken, expTime } = await logIn();
    const { body: jwks } = await anyone.get("/.well-known/jwks.json");
    const { payload, protectedHeader } = await jwtVerify(accessToken, createLocalJWKSet(jwks), {
      issuer: stack.appUrl,
      typ: "at+jwt",
      algorithms: ["EdDSA"],
    });
    expect(protectedHeader).toEqual({ alg: "EdDSA", typ: "at+jwt", kid: jwks.keys[0].kid });
    const me = (await bearer(accessToken).get("/me")).body.data[0];
    expect(payload).toEqual({
      iss: stack.appUrl,
      aud: expect.any(String),
      sub: me.id,
      sid: expect.any(String),
      iat: (payload.exp ?? 0) - 900,
      exp: expTime / 1000,
    });
  });

  it("does not verify with a key that is not ours", async () => {
    const { accessToken } = await logIn();
    const stranger = { ...(await anyone.get("/.well-known/jwks.json")).body.keys[0] };
    stranger.x = Buffer.alloc(32, 1).toString("base64url");
    await expect(jwtVerify(accessToken, createLocalJWKSet({ keys: [stranger] }))).rejects.toThrow(
      errors.JOSEError,
    );
  });

  it("carries the origin of a browser's session and none without a browser", async () => {
    const browser = new Browser(stack);
    await browser.logIn(credentials(ANN), { Origin: stack.appUrl, "Sec-Fetch-Site": "same-origin" });
    const claims = (token = "") => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    expect(claims(browser.cookies.accessToken).origin).toBe(stack.appUrl);
    expect(claims((await logIn()).accessToken)).not.toHaveProperty("origin");
  });

  it("tells nothing of role, e-mail or power", async () => {
    const { accessToken } = await logIn();
    const claims = Buffer.from(accessToken.split(".")[1], "base64url").toString();
    expect(claims).not.toMatch(/ann|role|admin/i);
    expect(Object.keys(decodeProtectedHeader(accessToken))).toEqual(["alg", "typ", "kid"]);
  });

  it("is verified by keys that hold no private part", async () => {
    const { status, headers, body } = await anyone.get("/.well-known/jwks.json");
    expect([status, headers.get("content-type")]).toEqual([200, expect.stringContaining("json")]);
    expect(body.keys).toEqual([
      ...[
        {
          kty: "OKP",
          crv: "Ed25519",
          use: "sig",
          alg: "EdDSA",
          x: expect.any(String),
          kid: expect.any(String),
        },
      ],
    ]);
  });
});

describe("POST /auth/refresh-token", () => {
  it("answers the next pair in the shape of a log-in", async () => {
    const first = await logIn();
    const { status, body } = await refresh(first.refreshToken);
    expect([status, Object.keys(body).toSorted()]).toEqual([200, Object.keys(first).toSorted()]);
    expect(body.refreshToken).not.toBe(first.refreshToken);
    expect((await bearer(body.accessToken).get("/me")).status).toBe(200);
  });

  it("slides the life of the refresh token", async () => {
    const first = await logIn();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await refresh(first.refreshToken)).body.refreshExpTime).toBeGreaterThan(first.refreshExpTime);
  });

  it("keeps the seven days of remember", async () => {
    const first = await logIn({ ...credentials(ANN), remember: true });
    const { refreshExpTime } = (await refresh(first.refreshToken)).body;
    expect(Math.abs(refreshExpTime - Date.now() - 7 * DAY_MS)).toBeLessThan(10_000);
  });

  it("answers the same successor to everybody who asks within the grace time", async () => {
    const { refreshToken } = await logIn();
    const answers = await atOnce(20, () => refresh(refreshToken));
    const later = await refresh(refreshToken);
    const pairs = [...answers, later].map(({ body }) => `${body.accessToken} ${body.refreshToken}`);
    expect(new Set(pairs).size).toBe(1);
    expect(later.status).toBe(200);
  });

  it("counts one refresh for all who ask for the same one at once, however many they are", async () => {
    const { refreshToken } = await logIn();
    const answers = await atOnce(60, () => refresh(refreshToken));
    expect(tally(answers)).toEqual({ 200: 60 });
    expect((await refresh(answers[0]?.body.refreshToken)).status).toBe(200);
  });

  it("ends the session when a token comes back that was replaced twice", async () => {
    const first = await logIn();
    const second = (await refresh(first.refreshToken)).body;
    const third = (await refresh(second.refreshToken)).body;
    const reused = await refresh(first.refreshToken);
    expect([reused.status, reused.body.error.code]).toEqual([401, "INVALID_TOKEN"]);
    expect((await refresh(third.refreshToken)).status).toBe(401);
    expect((await bearer(third.accessToken).get("/me")).status).toBe(401);
  });

  it("logs reuse as a security event", async () => {
    const first = await logIn();
    const second = (await refresh(first.refreshToken)).body;
    await refresh(second.refreshToken);
    const { headers } = await refresh(first.refreshToken);
    const id = headers.get("x-correlation-id") ?? "-";
    const event = () => logged(id).find((line) => line.includes("refresh_token_reuse"));
    expect(JSON.parse((await until(event)) ?? "{}")).toMatchObject({
      message: "security event",
      userId: expect.any(String),
    });
  });

  it("ends the session when the previous token comes back after the grace time", async () => {
    const first = await logIn();
    const second = (await refresh(first.refreshToken)).body;
    const client = await MongoClient.connect(stack.mongodbUrl);
    const sid = JSON.parse(Buffer.from(second.accessToken.split(".")[1], "base64url").toString()).sid;
    const sessions = client.db().collection<{ _id: string }>("_sessions");
    const rotatedAt = new Date(Date.now() - 31_000);
    await sessions.updateOne({ _id: sid }, [{ $set: { rotatedAt } }, { $unset: "supersededAt" }]);
    await client.close();
    expect((await refresh(first.refreshToken)).status).toBe(401);
    expect((await refresh(second.refreshToken)).status).toBe(401);
  });

  it("refuses what is no token of ours, all alike", async () => {
    const { refreshToken, accessToken } = await logIn();
    const flipped =
      refreshToken.slice(0, -2) + (refreshToken.at(-2) === "A" ? "B" : "A") + refreshToken.at(-1);
    for (const token of [
      "x",
      accessToken,
      flipped,
      refreshToken.slice(0, -1),
      `${refreshToken}A`,
      ` ${refreshToken}`,
    ]) {
      const { status, body } = await refresh(token);
      expect([status, body.error.code]).toEqual([401, "INVALID_TOKEN"]);
    }
    expect((await refresh(refreshToken)).status).toBe(200);
  });

  it.each([
    [{}],
    [{ refreshToken: 5 }],
    [{ refreshToken: { $ne: null } }],
    [{ refreshToken: "x", more: 1 }],
    [[]],
  ])("refuses the body %j", async (body) => {
    expect((await anyone.post("/auth/refresh-token", body)).status).toBe(400);
  });

  it("ignores the Authorization header", async () => {
    const { refreshToken } = await logIn();
    expect((await bearer("nonsense").post("/auth/refresh-token", { refreshToken })).status).toBe(200);
  });
});

describe("logging out", () => {
  it("by refresh token ends the session, also for its access token", async () => {
    const { accessToken, refreshToken } = await logIn();
    expect((await bearer(accessToken).get("/me")).status).toBe(200);
    expect((await anyone.post("/auth/logout", { refreshToken })).status).toBe(200);
    expect((await bearer(accessToken).get("/me")).status).toBe(401);
    expect((await refresh(refreshToken)).status).toBe(401);
  });

  it("by access token alone ends its session", async () => {
    const { accessToken, refreshToken } = await logIn();
    expect((await bearer(accessToken).post("/auth/logout", {})).status).toBe(200);
    expect((await refresh(refreshToken)).status).toBe(401);
  });

  it("with a token that is none of ours is 200, and without any is 400", async () => {
    expect((await anyone.post("/auth/logout", { refreshToken: "x" })).status).toBe(200);
    expect((await anyone.post("/auth/logout", {})).status).toBe(400);
  });

  it("with a bad Bearer is 401", async () => {
    const { refreshToken } = await logIn();
    expect((await bearer("nonsense").post("/auth/logout", { refreshToken })).status).toBe(401);
    expect((await refresh(refreshToken)).status).toBe(200);
  });

  it("races with a refresh and wins", async () => {
    const seen = new Set<number>();
    // On until both have come first at least once.
    for (let round = 0; round < 10 || (seen.size < 2 && round < 200); round += 1) {
      const { refreshToken } = await logIn();
      const [, refreshed] = await Promise.all([
        new Promise((resolve) => setTimeout(resolve, round % 40)).then(() =>
          anyone.post("/auth/logout", { refreshToken }),
        ),
        refresh(refreshToken),
      ]);
      seen.add(refreshed.status);
      expect((await refresh(refreshToken)).status).toBe(401);
      if (refreshed.status === 200) {
        expect((await refresh(refreshed.body.refreshToken)).status).toBe(401);
        expect((await bearer(refreshed.body.accessToken).get("/me")).status).toBe(401);
      }
    }
    expect([...seen].toSorted()).toEqual([200, 401]);
  });
});

describe("a bad Bearer", () => {
  it.each([
    ...[
      "/notes",
      "/me",
      "/nothing",
      "/notes/1/2",
      "/.well-known/jwks.json",
      "/svc_user",
      "/notes/0123456789abcdef01234567",
    ],
  ])("is 401 with a challenge on %s", async (path) => {
    const { status, headers, body } = await bearer("nonsense").get(path);
    expect([status, body.error?.code]).toEqual([401, "INVALID_TOKEN"]);
    expect(headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
  });

  it("is 401 straight at the data service too, on its public keys as well", async () => {
    const inside = apiOf(stack.dataUrl, { Authorization: "Bearer nonsense" });
    for (const path of ["/.well-known/jwks.json", "/nothing"])
      expect((await inside.get(path)).status).toBe(401);
  });

  it.each(["Basic YTpi", "Bearer", "bearer", "Token x", "Bearer a b"])(
    "is also %j",
    async (authorization) => {
      const api = apiOf(`${stack.appUrl}/api`, { Authorization: authorization });
      const { status, body } = await api.get("/me");
      expect([status, body.message]).toEqual([401, expect.stringContaining('the form "Bearer <token>"')]);
    },
  );

  it("does not let a valid cookie answer for it", async () => {
    const browser = new Browser(stack);
    await browser.logIn(credentials(ANN));
    expect((await browser.get("/me", { Authorization: "Bearer nonsense" })).status).toBe(401);
    expect((await browser.get("/me")).status).toBe(200);
  });

  it("beside an expired cookie refreshes nothing", async () => {
    const browser = Browser.with(stack, { refreshToken: (await logIn()).refreshToken });
    const { accessToken } = await logIn();
    const answer = await browser.get("/me", { Authorization: `Bearer ${accessToken}` });
    expect([answer.status, setCookies(answer)]).toEqual([200, []]);
  });
});

describe("GET /me", () => {
  it("is the user's own record without the password", async () => {
    const { body } = await (await signIn(`${stack.appUrl}/api`, credentials(ANN))).get("/me");
    expect(body.data).toEqual([
      {
        id: expect.any(String),
        email: ANN.email,
        name: "Ann",
        isActive: true,
        isRootAdmin: false,
        role: { id: expect.any(String) },
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
  });

  it("honours fields and deep, the role included", async () => {
    const ann = await signIn(`${stack.appUrl}/api`, credentials(ANN));
    expect((await ann.get("/me", { fields: "email,role.name" })).body.data).toEqual([
      { email: ANN.email, role: { id: expect.any(String), name: "Editor" } },
    ]);
    expect(
      (await ann.get("/me", { fields: "email", deep: { role: { fields: "description" } } })).body.data,
    ).toEqual([{ email: ANN.email, role: { id: expect.any(String), description: "edits" } }]);
  });

  it("refuses unknown and secret fields", async () => {
    const ann = await signIn(`${stack.appUrl}/api`, credentials(ANN));
    for (const fields of ["nope", "password", "passwordHash"]) {
      expect((await ann.get("/me", { fields })).status).toBe(400);
    }
  });

  it("without a session is 401", async () => {
    const { status, headers, body } = await anyone.get("/me");
    expect([status, body.error.code, headers.get("www-authenticate")]).toEqual([
      401,
      "UNAUTHORIZED",
      "Bearer",
    ]);
  });
});

describe("a user who is changed by root", () => {
  const user = async (name: string) => {
    const account = { email: `${name}@example.com`, password: `${name}'s password` };
    const { id } = await make(admin, "svc_user", { ...account, role: editor });
    return { id, account, api: await signIn(`${stack.appUrl}/api`, account), session: await logIn(account) };
  };

  it("and deactivated is refused within five seconds, also with a refresh token", async () => {
    const { id, api, session } = await user("bob");
    expect((await api.get("/notes")).status).toBe(200);
    await admin.patch(`/svc_user/${id}`, { isActive: false });
    await until(
      async () => (await api.get("/notes")).status,
      (status) => status === 401,
      5_000,
    );
    expect((await refresh(session.refreshToken)).status).toBe(401);
  });

  it("and deleted is refused", async () => {
    const { id, api, session } = await user("cid");
    await admin.delete(`/svc_user/${id}`);
    expect((await api.get("/me")).status).toBe(401);
    expect((await refresh(session.refreshToken)).status).toBe(401);
  });

  it("and made root admin may do more at once, with the same token", async () => {
    const { id, api } = await user("dan");
    expect((await api.get("/svc_user")).status).toBe(403);
    await admin.patch(`/svc_user/${id}`, { isRootAdmin: true });
    expect((await api.get("/svc_user")).status).toBe(200);
    await admin.patch(`/svc_user/${id}`, { isRootAdmin: false });
    expect((await api.get("/svc_user")).status).toBe(403);
  });

  it("and given a new password signs in with that alone", async () => {
    const { id, account } = await user("eve");
    await admin.patch(`/svc_user/${id}`, { password: "a new password" });
    expect((await anyone.post("/auth/login", account)).status).toBe(401);
    expect((await anyone.post("/auth/login", { ...account, password: "a new password" })).status).toBe(200);
  });
});

describe("an account", () => {
  it("has an e-mail that nobody else has, whatever its case", async () => {
    const { status, body } = await admin.post("/svc_user", {
      email: "ANN@example.com",
      password: "12345678",
    });
    expect([status, body.error.details]).toEqual([409, { fields: ["email"] }]);
  });

  it("is the same one however its letters are put together", async () => {
    const [apart, whole] = ["J\u030Cane@x.io", "\u01F0ane@x.io"];
    await make(admin, "svc_user", { email: apart, password: "jane's password" });
    expect((await admin.post("/svc_user", { email: whole })).status).toBe(409);
    for (const email of [apart, whole, apart.toLowerCase()])
      expect((await anyone.post("/auth/login", { email, password: "jane's password" })).status).toBe(200);
  });

  it("B3 is another one when a letter only looks alike, and both sign in as themselves", async () => {
    const [mike, dotless] = ["mike@x.io", "m\u0131ke@x.io"];
    await make(admin, "svc_user", { email: mike, password: "mike's password" });
    await make(admin, "svc_user", { email: dotless, password: "mıke's password" });
    expect((await admin.post("/svc_user", { email: "MIKE@x.io" })).status).toBe(409);
    const answer = await anyone.post("/auth/login", { email: "MIKE@X.IO", password: "mike's password" });
    expect((await bearer(answer.body.accessToken).get("/me")).body.data[0].email).toBe(mike);
    expect((await anyone.post("/auth/login", { email: dotless, password: "mike's password" })).status).toBe(
      401,
    );
  });

  it("may be one of a long list of new ones, each with a password of its own", async () => {
    const list = Array.from({ length: 60 }, (_none, at) => ({
      email: `one-of-many-${at}@example.com`,
      password: `password ${at}`,
    }));
    expect((await admin.post("/svc_user", list)).status).toBe(201);
    expect((await anyone.post("/auth/login", list[59])).status).toBe(200);
  });

  it.each([
    ["_eq", " ANN@example.com"],
    ["_in", ["nobody@example.com", "Ann@Example.com"]],
    ["_between", ["ANN@", "ANN@F"]],
    ["_contains", "ANN@EXAMPLE"],
  ])("is found, or left out, by its e-mail in any case: %s", async (operator, operand) => {
    const found = { email: { [operator]: operand } };
    expect(await valuesOf(admin, "svc_user", "email", found)).toEqual([ANN.email]);
    const left = { _and: [{ email: ANN.email }, { _not: found }] };
    expect(await valuesOf(admin, "svc_user", "email", left)).toEqual([]);
  });

  it.each([{ _neq: "ANN@example.com" }, { _not_in: ["Ann@example.com"] }])(
    "is left out by %j",
    async (others) => {
      const filter = { email: { _in: [ANN.email], ...others } };
      expect(await valuesOf(admin, "svc_user", "email", filter)).toEqual([]);
    },
  );

  it("has its e-mail trimmed and in lower case", async () => {
    const { status, body } = await admin.post("/svc_user", {
      email: "  Fay@Example.com ",
      password: "12345678",
    });
    expect([status, body.data?.[0].email]).toEqual([201, "fay@example.com"]);
  });

  it.each(["1234567", "x".repeat(1025), ""])("has a password of 8 to 1,024 characters", async (password) => {
    const { status, body } = await admin.post("/svc_user", { email: "gus@example.com", password });
    expect([status, body.message]).toEqual([400, [expect.stringMatching(/^password: /)]]);
  });

  it("may have a password of 1,024 characters, all of which count", async () => {
    const password = "x".repeat(1023);
    await make(admin, "svc_user", { email: "long@example.com", password: `${password}a` });
    expect(
      (await anyone.post("/auth/login", { email: "long@example.com", password: `${password}b` })).status,
    ).toBe(401);
    expect(
      (await anyone.post("/auth/login", { email: "long@example.com", password: `${password}a` })).status,
    ).toBe(200);
  });

  it("of the last active root admin can't be removed, deactivated or made ordinary, be there another who can't sign in", async () => {
    const me = (await admin.get("/me")).body.data[0].id;
    // Without a password, and no provider knows the address yet.
    await make(admin, "svc_user", { email: "no-way-in@example.com", isRootAdmin: true });
    const answers = [
      await admin.delete(`/svc_user/${me}`),
      await admin.patch(`/svc_user/${me}`, { isActive: false }),
      await admin.patch(`/svc_user/${me}`, { isRootAdmin: false }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409]);
    expect(await read(admin, "svc_user", me, "isActive,isRootAdmin")).toEqual({
      isActive: true,
      isRootAdmin: true,
    });
  });
});
