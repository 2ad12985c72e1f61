// Contract 3.2: API tokens, which work directly as Bearer tokens.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ENDED_MEANWHILE } from "@portico/shared/bearer-token";
import { MongoClient, ObjectId } from "mongodb";
import { openSocket, statuses } from "../../gateway/support/raw-http.js";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { loggedByNow } from "../../support/process-facts.js";
import { allowAll } from "../../support/rules.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, makeTable, type Row } from "../records/make.js";
import { Browser } from "./jar.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
/** For how long an instance believes what it has looked up, and something for a busy machine. */
const ELSEWHERE_WITHIN_MS = 5_000 + 1_500;

let stack: Stack;
let twin: Stack;
let admin: Api;
let ann: Api;
let base: string;
let database: MongoClient;

beforeAll(async () => {
  stack = await startStack();
  twin = await startStack({ twinOf: stack });
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
  base = `${stack.appUrl}/api`;
  await make(admin, "svc_user", ANN);
  ann = await signIn(base, ANN);
  await makeTable(admin, { name: "notes", columns: [{ name: "text", type: "string" }] });
  await allowAll(admin, ["notes"], null);
});

afterAll(async () => {
  await database.close();
  await twin.stop();
  await stack.stop();
});

const makeToken = async (wish: object = {}, api = ann): Promise<Row> =>
  (await api.post("/auth/api-tokens", { name: "ci", expiresAt: "never", ...wish })).body.data[0];
const using = (token: string, at = base) => apiOf(at, { Authorization: `Bearer ${token}` });
const listed = async (id: string): Promise<Row> =>
  (await ann.get("/auth/api-tokens")).body.data.find((each: Row) => each.id === id);
const stored = async (id: string) =>
  (await database.db().collection("_api_tokens").find().toArray()).find(({ _id }) => String(_id) === id);

describe("POST /auth/api-tokens", () => {
  it("shows the token once, and keeps only its SHA-256", async () => {
    const answer = await ann.post("/auth/api-tokens", { name: "ci", expiresAt: "never" });
    const [token] = answer.body.data;
    expect([answer.status, answer.headers.get("location")]).toEqual([
      201,
      `/api/auth/api-tokens/${token.id}`,
    ]);
    expect(token).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      name: "ci",
      readOnly: false,
      origin: null,
      expiresAt: "never",
      createdAt: expect.any(String),
      lastUsedAt: null,
      token: expect.stringMatching(/^svc_pat_[\w-]{43}$/),
    });
    const { token: text, ...rest } = token;
    expect(await listed(token.id)).toEqual(rest);
    const kept = await stored(token.id);
    expect(kept?.hash).toBe(createHash("sha256").update(text).digest("hex"));
    expect(JSON.stringify(kept)).not.toContain(text.slice(8));
    expect(await loggedByNow(stack)).not.toContain(text.slice(8));
  });

  it.each<[string, object, string]>([
    ["no name", { name: undefined }, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a name of 101 characters", { name: "a".repeat(101) }, "name"],
    ["a name with half a character", { name: "\ud800x" }, "name"],
    ["no expiry", { expiresAt: undefined }, "expiresAt"],
    ["a time that is past", { expiresAt: "2020-01-01T00:00:00Z" }, "expiresAt"],
    ["a day without a time", { expiresAt: "2099-01-01" }, "expiresAt"],
    ["no such day", { expiresAt: "2099-02-31T00:00:00Z" }, "expiresAt"],
    ["no such hour", { expiresAt: "2099-02-28T24:00:00Z" }, "expiresAt"],
    ["no such offset", { expiresAt: "2099-02-28T00:00:00+24:00" }, "expiresAt"],
    ["a number for it", { expiresAt: 4_102_444_800_000 }, "expiresAt"],
    ["NEVER in capitals", { expiresAt: "NEVER" }, "expiresAt"],
    ["a text for readOnly", { readOnly: "yes" }, "readOnly"],
    ["another user", { userId: "0".repeat(24) }, "userId"],
  ])("refuses %s by name", async (_name, wish, field) => {
    const { status, body } = await ann.post("/auth/api-tokens", { name: "ci", expiresAt: "never", ...wish });
    expect([status, body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(body.message[0]).toMatch(new RegExp(`^${field}: `));
  });

  it("is 409 for a user who has a hundred, until one of them is gone", async () => {
    const many = { email: "many@example.com", password: "many's password" };
    await admin.post("/svc_user", many);
    const owner = await signIn(base, many);
    const wish = { name: "ci", expiresAt: "never" };
    const first = (await owner.post("/auth/api-tokens", wish)).body.data[0].id;
    const made = await Promise.all(Array.from({ length: 99 }, () => owner.post("/auth/api-tokens", wish)));
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
    const { status, body } = await owner.post("/auth/api-tokens", wish);
    expect([status, body.error.code, body.message]).toEqual([409, "CONFLICT", expect.stringMatching(/100/)]);
    expect((await owner.delete(`/auth/api-tokens/${first}`)).status).toBe(200);
    expect((await owner.post("/auth/api-tokens", wish)).status).toBe(201);
  });

  it("makes no more than a hundred of one user, on however many instances they are asked for at once", async () => {
    const eager = { email: "eager@example.com", password: "eager's password" };
    await admin.post("/svc_user", eager);
    const owners = [await signIn(base, eager), await signIn(`${twin.appUrl}/api`, eager)];
    const wish = { name: "ci", expiresAt: "never" };
    const asked = Array.from({ length: 75 }, () =>
      owners.map((owner) => owner.post("/auth/api-tokens", wish)),
    );
    const answers = await Promise.all(asked.flat());
    const made = answers.flatMap(({ status, body }) => (status === 201 ? [body.data[0].id] : []));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
    expect(made.length).toBeLessThanOrEqual(100);
    const refusals = answers.filter(({ status }) => status === 409).map(({ body }) => body.message);
    expect(refusals).toContainEqual(expect.stringContaining("ask again, one by one"));
    const kept = (await owners[0]?.get("/auth/api-tokens"))?.body.data.map(({ id }: Row) => id);
    expect(new Set(kept)).toEqual(new Set(made));
  });

  it("is 401 without a session, and 403 from a foreign page by cookie", async () => {
    expect((await apiOf(base).post("/auth/api-tokens", {})).status).toBe(401);
    const browser = new Browser(stack);
    await browser.logIn(ANN);
    const body = { name: "ci", expiresAt: "never" };
    expect((await browser.post("/auth/api-tokens", body, { Origin: "https://evil.com" })).status).toBe(403);
    expect((await browser.post("/auth/api-tokens", body)).status).toBe(201);
  });
});

describe("a session that ends while the body of POST /auth/api-tokens is held back", () => {
  const cid = { email: "cid@example.com", password: "cid's password" };
  const body = JSON.stringify({ name: "late", expiresAt: "never" });

  /** How often the data service has looked for a session. */
  async function lookups(): Promise<number> {
    const text = await (await fetch(`${stack.dataUrl}/metrics`)).text();
    return Number(/portico_cache_lookups_total\{cache="sessions"\} (\d+)/.exec(text)?.[1]);
  }

  it("makes no token any more, wherever it was ended", async () => {
    const { id } = await make(admin, "svc_user", cid);
    const { accessToken } = (await apiOf(base).post("/auth/login", cid)).body;
    // From here on the session is remembered for a while, as it would be for one that is busy.
    expect((await using(accessToken, stack.dataUrl).get("/me")).status).toBe(200);
    const before = await lookups();
    const socket = await openSocket(stack.dataUrl);
    socket.write(
      [
        ...["POST /auth/api-tokens HTTP/1.1", "Host: localhost", `Authorization: Bearer ${accessToken}`],
        ...["Content-Type: application/json", `Content-Length: ${body.length}`, "", ""],
      ].join("\r\n"),
    );
    await until(lookups, (seen) => seen > before, 10_000);
    expect((await using(accessToken, `${twin.appUrl}/api`).post("/auth/logout", {})).status).toBe(200);
    const answered = once(socket, "data");
    socket.write(body);
    const [answer] = await answered;
    socket.destroy();
    expect(statuses(String(answer))).toEqual([401]);
    // The browser may have signed in anew: no gateway clears its cookies by this.
    expect(String(answer)).toContain(ENDED_MEANWHILE["WWW-Authenticate"]);
    const userId = ObjectId.createFromHexString(id);
    expect(await database.db().collection("_api_tokens").countDocuments({ userId })).toBe(0);
  });
});

describe("an API token", () => {
  it("works as a Bearer token through the gateway and straight at the data service", async () => {
    const { token } = await makeToken();
    for (const at of [base, stack.dataUrl]) {
      expect((await using(token, at).get("/me")).body.data[0].email).toBe(ANN.email);
      expect((await using(token, at).post("/notes", { text: "by token" })).status).toBe(201);
    }
  });

  it("may do what its user may, and no more", async () => {
    const { token } = await makeToken();
    expect((await using(token).get("/svc_user")).status).toBe(403);
    const root = await makeToken({}, admin);
    expect((await using(root.token).get("/svc_user")).status).toBe(200);
  });

  it("that is read-only reads, and is refused with 403 and a reason when it could change something", async () => {
    const { token } = await makeToken({ readOnly: true }, admin);
    const api = using(token);
    const { id } = await make(admin, "notes", { text: "stays" });
    expect((await api.get("/notes")).status).toBe(200);
    const json = { "Content-Type": "application/json" };
    expect((await api.send("QUERY", "/notes", { headers: json, body: "{}" })).status).toBe(200);
    const override = { ...json, "X-HTTP-Method-Override": "QUERY" };
    expect((await api.send("POST", "/notes", { headers: override, body: "{}" })).status).toBe(200);
    for (const answer of [
      await api.post("/notes", { text: "x" }),
      await api.patch(`/notes/${id}`, { text: "x" }),
      await api.delete(`/notes/${id}`),
      await api.patch("/me", { name: "x" }),
      await api.post("/auth/keys/rotate", {}),
    ]) {
      expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining("read-only")]);
    }
    expect((await admin.get(`/notes/${id}`)).body.data[0].text).toBe("stays");
  });

  it("has no session to end: a log-out is 200 for each kind, and tells the audit log nothing", async () => {
    for (const readOnly of [true, false]) {
      const { token } = await makeToken({ readOnly }, admin);
      for (const path of ["/logout", "/auth/logout"]) {
        const answer = await using(token).send("POST", path);
        expect([answer.status, answer.body]).toEqual([200, { statusCode: 200, message: "Success" }]);
        const correlationId = answer.headers.get("x-correlation-id");
        expect(await database.db().collection("svc_audit").countDocuments({ correlationId })).toBe(0);
      }
      expect((await using(token).get("/me")).status).toBe(200);
    }
  });

  it("ends the session of a refresh token beside it, which whoever holds that may do", async () => {
    const account = { email: "cy@example.com", password: "cy's password" };
    await make(admin, "svc_user", account);
    const { refreshToken } = (await apiOf(base).post("/auth/login", account)).body;
    const { token } = await makeToken({ readOnly: true }, admin);
    expect((await using(token).post("/auth/logout", { refreshToken })).status).toBe(200);
    expect((await apiOf(base).post("/auth/refresh-token", { refreshToken })).status).toBe(401);
  });

  it("that is read-only makes no table in the disguise of a query", async () => {
    const { token } = await makeToken({ readOnly: true }, admin);
    const headers = { "Content-Type": "application/json", "X-HTTP-Method-Override": "QUERY" };
    const body = JSON.stringify({ name: "sneaky", columns: [] });
    expect((await using(token).send("POST", "/svc_table", { headers, body })).status).toBe(400);
    expect((await admin.get("/sneaky")).status).toBe(404);
  });

  it.each([
    ["make another", "POST", "/auth/api-tokens"],
    ["list the others", "GET", "/auth/api-tokens"],
    ["see the sessions", "GET", "/me/sessions"],
    ["end a session", "DELETE", "/me/sessions/AAAAAAAAAAAAAAAAAAAAAA"],
    ["revoke a token", "DELETE", "/auth/api-tokens/000000000000000000000000"],
    ["see the connected providers", "GET", "/me/oauth-accounts"],
    ["disconnect a provider", "DELETE", "/me/oauth-accounts/000000000000000000000000"],
  ])("can't %s", async (_name, method, path) => {
    const { token } = await makeToken();
    const { status, body } = await using(token).send(method, path);
    expect([status, body.message]).toEqual([403, expect.stringContaining("API token")]);
  });

  it("can't change the password, even knowing it, but its user's name", async () => {
    const { token } = await makeToken();
    const wish = { password: "a new password", currentPassword: ANN.password };
    expect((await using(token).patch("/me", wish)).status).toBe(403);
    expect((await using(token).patch("/me", { name: "Ann" })).status).toBe(200);
  });

  it("expires", async () => {
    /** One that is used before it expires, however long that takes. */
    const usedInTime = async (lifeMs: number): Promise<{ token: string; expiresAt: string }> => {
      const expiresAt = new Date(Date.now() + lifeMs).toISOString();
      const made = await makeToken({ expiresAt });
      expect(made.expiresAt).toBe(expiresAt);
      const { status } = await using(made.token).get("/me");
      if (status !== 200 && Date.now() >= Date.parse(expiresAt)) return usedInTime(2 * lifeMs);
      expect(status).toBe(200);
      return { token: made.token, expiresAt };
    };
    const { token, expiresAt } = await usedInTime(2_000);
    await delay(Date.parse(expiresAt) - Date.now() + 10);
    const { status, body } = await using(token).get("/me");
    expect([status, body.error.code]).toEqual([401, "TOKEN_EXPIRED"]);
  });

  it("keeps when it was last used, written at most once a minute", async () => {
    const { token, id } = await makeToken();
    await using(token).get("/me");
    const first = (await listed(id)).lastUsedAt;
    expect(Math.abs(Date.parse(first) - Date.now())).toBeLessThan(10_000);
    await using(token, `${twin.appUrl}/api`).get("/me");
    expect((await listed(id)).lastUsedAt).toBe(first);
  });

  it.each([
    ["a made-up one", "svc_pat_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
    ["one that is too short", "svc_pat_AAAA"],
    ["the prefix alone", "svc_pat_"],
  ])("that is %s is 401, also on public routes", async (_name, token) => {
    for (const path of ["/me", "/notes", "/.well-known/jwks.json"]) {
      const { status, body } = await using(token).get(path);
      expect([status, body.error.code]).toEqual([401, "INVALID_TOKEN"]);
    }
  });

  it("is no refresh token and no cookie", async () => {
    const { token } = await makeToken();
    expect((await apiOf(base).post("/auth/refresh-token", { refreshToken: token })).status).toBe(401);
    expect((await Browser.with(stack, { accessToken: token }).get("/me")).status).toBe(401);
  });

  it("outlives a password change and a log-out of its user, but is out of work while the account is inactive", async () => {
    const account = { email: "bob@example.com", password: "bob's password" };
    const { id } = await make(admin, "svc_user", account);
    const { token } = await makeToken({}, await signIn(base, account));
    expect((await using(token).post("/logout")).status).toBe(200);
    await admin.patch(`/svc_user/${id}`, { password: "set by root" });
    expect((await using(token).get("/me")).status).toBe(200);
    await admin.patch(`/svc_user/${id}`, { isActive: false });
    expect((await using(token).get("/me")).status).toBe(401);
    await admin.patch(`/svc_user/${id}`, { isActive: true });
    expect((await using(token).get("/me")).status).toBe(200);
    await admin.delete(`/svc_user/${id}`);
    expect((await using(token).get("/me")).status).toBe(401);
    const userId = ObjectId.createFromHexString(id);
    expect(await database.db().collection("_api_tokens").countDocuments({ userId })).toBe(0);
  });
});

describe("an API token's id", () => {
  it("names it in capitals, too, and in the audit log as it is", async () => {
    const { id, token } = await makeToken();
    const address = `/auth/api-tokens/${id.toUpperCase()}`;
    expect((await ann.get(address)).body.data[0].id).toBe(id);
    expect((await ann.delete(address)).status).toBe(200);
    expect((await using(token).get("/me")).status).toBe(401);
    const revoked = { event: "token.revoked", "details.tokenId": id };
    expect(await database.db().collection("svc_audit").countDocuments(revoked)).toBe(1);
  });
});

describe("DELETE /auth/api-tokens/{id}", () => {
  it("revokes at once here and within five seconds elsewhere", async () => {
    const { token, id } = await makeToken();
    const elsewhere = async () => (await using(token, `${twin.appUrl}/api`).get("/me")).status;
    expect([(await using(token).get("/me")).status, await elsewhere()]).toEqual([200, 200]);
    expect((await ann.delete(`/auth/api-tokens/${id}`)).status).toBe(200);
    expect((await using(token).get("/me")).status).toBe(401);
    await until(elsewhere, (status) => status === 401, ELSEWHERE_WITHIN_MS);
    expect(await listed(id)).toBeUndefined();
    expect((await ann.delete(`/auth/api-tokens/${id}`)).status).toBe(404);
  });

  it("is 404 for somebody else's, which goes on working, and for what is no id", async () => {
    const { token, id } = await makeToken({}, admin);
    for (const each of [id, "x", "%24ne"]) {
      expect((await ann.delete(`/auth/api-tokens/${each}`)).status).toBe(404);
      expect((await ann.get(`/auth/api-tokens/${each}`)).status).toBe(404);
    }
    expect((await using(token).get("/me")).status).toBe(200);
    expect((await admin.get(`/auth/api-tokens/${id}`)).body.data[0].id).toBe(id);
  });

  it("C14 leaves no token text anywhere in the database", async () => {
    const { token } = await makeToken();
    await using(token).get("/me");
    const session = (await apiOf(base).post("/auth/login", ANN)).body;
    const secrets = [token, session.accessToken, session.refreshToken, ANN.password];
    for (const { name } of await database.db().listCollections().toArray()) {
      const dump = JSON.stringify(await database.db().collection(name).find().toArray());
      for (const secret of secrets) expect([name, dump.includes(secret)]).toEqual([name, false]);
    }
  });
});
