// Contract 3.2: PATCH /me, the user's sessions, and what ends them.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { sendRaw, statuses } from "../../gateway/support/raw-http.js";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { sendBody } from "../../support/multipart.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, type Row } from "../records/make.js";
import { Browser } from "./jar.js";

let stack: Stack;
let twin: Stack;
let admin: Api;
let base: string;
let people = 0;
let ann: Person;

interface Person {
  readonly id: string;
  readonly email: string;
  readonly password: string;
}

beforeAll(async () => {
  stack = await startStack({ env: { TRUST_PROXY: "loopback" } });
  twin = await startStack({ twinOf: stack });
  admin = await asAdmin(stack);
  base = `${stack.appUrl}/api`;
});

afterAll(async () => {
  await twin.stop();
  await stack.stop();
});

async function makePerson(): Promise<Person> {
  people += 1;
  const account = { email: `ann${people}@example.com`, password: "ann's password" };
  const { id } = await make(admin, "svc_user", { ...account, name: "Ann" });
  return { id, ...account };
}

beforeEach(async () => {
  ann = await makePerson();
});

const credentials = ({ email, password } = ann) => ({ email, password });
const logIn = async (who = ann, headers: Record<string, string> = {}): Promise<Row> =>
  (await apiOf(base, headers).post("/auth/login", credentials(who))).body;
const bearer = (token: string, at = base) => apiOf(at, { Authorization: `Bearer ${token}` });
const refresh = async (refreshToken: string) =>
  (await apiOf(base).post("/auth/refresh-token", { refreshToken })).status;
const me = async (token: string, at = base) => (await bearer(token, at).get("/me")).status;
const change = (currentPassword: unknown) => ({ password: "a new password", currentPassword });

describe("PATCH /me", () => {
  it("changes one's own columns and answers the record in the asked shape", async () => {
    const api = await signIn(base, credentials());
    const { status, body } = await api.patch("/me", { name: "Anna" }, { fields: "name" });
    expect([status, body.data]).toEqual([200, [{ name: "Anna" }]]);
    expect((await api.get("/me")).body.data[0].name).toBe("Anna");
  });

  it("answers with the records that `deep` asks for", async () => {
    const role = (await make(admin, "svc_role", { name: "Writer", description: "who writes" })).id;
    await admin.patch(`/svc_user/${ann.id}`, { role });
    await make(admin, "svc_permission", { role, table: "svc_role", action: "read" });
    const api = await signIn(base, credentials());
    const deep = { role: { fields: "description" } };
    const { status, body } = await api.patch("/me", { name: "Anna" }, { fields: "name", deep });
    expect([status, body.data]).toEqual([
      200,
      [{ name: "Anna", role: { id: role, description: "who writes" } }],
    ]);
  });

  it("waits for what becomes of one's own record that is being deleted", async () => {
    const api = await signIn(base, credentials());
    const client = await MongoClient.connect(stack.mongodbUrl);
    const users = client.db().collection("svc_user");
    // As a delete leaves it that is judged, and looks for what goes with it.
    const which = { _id: ObjectId.createFromHexString(ann.id) };
    const mark = { _leaving_for: { [new ObjectId().toHexString()]: true } };
    expect((await users.updateOne(which, { $set: mark })).matchedCount).toBe(1);
    let isAnswered = false;
    const changed = api.patch("/me", { name: "Anna" }).finally(() => {
      isAnswered = true;
    });
    // Somebody else's is made meanwhile.
    expect((await admin.patch("/me", { name: "Root" })).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isAnswered).toBe(false);
    await users.updateOne(which, { $unset: { _leaving_for: 1 } });
    await client.close();
    expect((await changed).status).toBe(200);
  });

  it.each([
    ["role", null],
    ["isRootAdmin", true],
    ["isActive", false],
    ["email", "other@example.com"],
    ["id", "0".repeat(24)],
    ["createdAt", "2020-01-01T00:00:00Z"],
    ["updatedAt", "2020-01-01T00:00:00Z"],
    ["passwordHash", "x"],
    ["sessionEpoch", ""],
    ["roleId", null],
    ["nme", "Anna"],
  ])("refuses %s by name and changes nothing", async (name, value) => {
    const api = await signIn(base, credentials());
    const { status, body } = await api.patch("/me", { name: "Anna", [name]: value });
    expect([status, body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(body.message).toEqual([expect.stringMatching(`^${name}: `)]);
    expect((await api.get("/me")).body.data[0].name).toBe("Ann");
  });

  it("names every violation at once", async () => {
    const api = await signIn(base, credentials());
    const { body } = await api.patch("/me", { role: null, name: 5, password: "short" });
    expect(body.message.map((line: string) => line.split(":")[0]).sort()).toEqual([
      ...["currentPassword", "name", "password", "role"],
    ]);
  });

  it.each([
    ["fields", "nope", "fields: "],
    ["deep", { nope: {} }, "deep.nope: "],
  ])("refuses a wrong `%s` before anything changes", async (name, value, problem) => {
    const api = await signIn(base, credentials());
    const { status, body } = await api.patch("/me", { name: "Anna" }, { [name]: value });
    expect([status, body.message]).toEqual([400, expect.stringContaining(problem)]);
    expect((await api.get("/me")).body.data[0].name).toBe("Ann");
  });

  it("without a session is 401, and another method 405", async () => {
    expect((await apiOf(base).patch("/me", { name: "x" })).status).toBe(401);
    const { status, headers } = await apiOf(base).post("/me", {});
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, PATCH, OPTIONS"]);
  });
});

describe("PATCH /me with a password", () => {
  it("keeps the browser that did it signed in, by cookie", async () => {
    const browser = new Browser(stack);
    await browser.logIn(credentials());
    expect((await browser.send("PATCH", "/me", change(ann.password))).status).toBe(200);
    expect((await browser.get("/me")).status).toBe(200);
    const restarted = Browser.with(stack, { refreshToken: browser.cookies.refreshToken });
    expect((await restarted.get("/me")).status).toBe(200);
  });

  it.each([
    ["without the present one", undefined, 400],
    ["with a wrong present one", "wrong password", 401],
    ["with an object for it", { $ne: "" }, 400],
    ["with null for it", null, 400],
    ["with half a character in it", "wrong pa\ud800sword", 400],
  ])("is refused %s, and nothing changes", async (_name, current, expected) => {
    const { accessToken } = await logIn();
    const { status, body } = await bearer(accessToken).patch("/me", { ...change(current), name: "Anna" });
    expect(status).toBe(expected);
    expect([body.message].flat()[0]).toMatch(/^currentPassword: /);
    expect((await bearer(accessToken).get("/me")).body.data[0].name).toBe("Ann");
    expect((await apiOf(base).post("/auth/login", credentials())).status).toBe(200);
  });

  it.each([
    ["too short", "1234567"],
    ["too long", "a".repeat(1025)],
    ["null", null],
    ["a number", 12345678],
  ])("is refused when the new one is %s", async (_name, password) => {
    const { accessToken } = await logIn();
    const { status, body } = await bearer(accessToken).patch("/me", {
      password,
      currentPassword: ann.password,
    });
    expect([status, body.message[0]]).toEqual([400, expect.stringMatching(/^password: /)]);
  });

  it("can't be used to guess the present one: it counts like a sign-in", async () => {
    const { accessToken } = await logIn();
    const statuses = [];
    for (let at = 0; at < 7; at += 1) {
      statuses.push((await bearer(accessToken).patch("/me", change(`guess number ${at}`))).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect(await me(accessToken)).toBe(200);
  });

  it("is done once of many at the same time", async () => {
    const { accessToken } = await logIn();
    const wishes = Array.from({ length: 5 }, (_none, at) => ({
      password: `new password ${at}`,
      currentPassword: ann.password,
    }));
    const answers = await Promise.all(wishes.map((wish) => bearer(accessToken).patch("/me", wish)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await me(accessToken)).toBe(200);
  });

  it("brings no session back that a deactivation ended while the body was on its way (B6)", async () => {
    const { accessToken, refreshToken } = await logIn();
    const body = Buffer.from(JSON.stringify(change(ann.password)));
    async function* slowly(): AsyncGenerator<Buffer> {
      yield body.subarray(0, 10);
      await delay(200);
      await admin.patch(`/svc_user/${ann.id}`, { isActive: false });
      await admin.patch(`/svc_user/${ann.id}`, { isActive: true });
      yield body.subarray(10);
    }
    const headers = { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" };
    const { status } = await sendBody("PATCH", `${stack.dataUrl}/me`, headers, slowly());
    expect([status, await me(accessToken), await refresh(refreshToken)]).toEqual([401, 401, 401]);
    expect((await logIn()).statusCode).toBe(200);
  });

  it("brings no session back that a deactivation ended after the present one was checked (B6)", async () => {
    const { accessToken, refreshToken } = await logIn();
    const client = await MongoClient.connect(stack.mongodbUrl);
    const users = client.db().collection("svc_user");
    const which = { _id: ObjectId.createFromHexString(ann.id) };
    // The change waits where it is to be written.
    const mark = { _leaving_for: { [new ObjectId().toHexString()]: true } };
    await users.updateOne(which, { $set: mark });
    const changed = bearer(accessToken).patch("/me", change(ann.password));
    await until(
      () => client.db().collection("_sessions").findOne({ userId: which._id }),
      (session) => session?.epochs.length === 2,
      10_000,
    );
    await users.updateOne(which, {
      $set: { isActive: false, sessionEpoch: "next" },
      $unset: { _leaving_for: 1 },
    });
    await client.close();
    const { status, body } = await changed;
    expect([status, body.error.code]).toEqual([409, "CONFLICT"]);
    await admin.patch(`/svc_user/${ann.id}`, { isActive: true });
    expect([await me(accessToken), await refresh(refreshToken)]).toEqual([401, 401]);
    expect((await logIn()).statusCode).toBe(200);
  });
});

describe("GET /me/sessions", () => {
  it("lists one's own, the present one marked, with who and where", async () => {
    await logIn(ann, { "User-Agent": "phone", "X-Forwarded-For": "203.0.113.9" });
    const own = await logIn(ann, { "User-Agent": "laptop" });
    const { status, body } = await bearer(own.accessToken).get("/me/sessions");
    expect([status, body.data.length]).toEqual([200, 2]);
    const phone = body.data.find(({ userAgent }: Row) => userAgent === "phone");
    expect(phone).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      createdAt: expect.any(String),
      lastUsedAt: expect.any(String),
      expiresAt: expect.any(String),
      userAgent: "phone",
      address: "203.0.113.9",
      origin: null,
      loginProvider: null,
      current: false,
    });
    expect(body.data.find(({ current }: Row) => current).userAgent).toBe("laptop");
  });

  it.each([
    ["gateway", () => base],
    ["data service", () => stack.dataService.url],
  ])("says where through a proxy that adds ports, before the %s", async (_which, url) => {
    const told = { "X-Forwarded-For": "203.0.113.9:40123, 127.0.0.1:51234" };
    const { accessToken } = (await apiOf(url(), told).post("/auth/login", credentials())).body;
    const { data } = (await bearer(accessToken).get("/me/sessions")).body;
    expect(data.map(({ address }: Row) => address)).toEqual(["203.0.113.9"]);
  });

  it("names no user agent where the client did not, by cookies either", async () => {
    const body = JSON.stringify(credentials());
    const head = `Host: ${new URL(stack.appUrl).host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const unnamed = ["/api/login", "/api/auth/login"].map((path) => `POST ${path} HTTP/1.1\r\n${head}`);
    const [login = ""] = unnamed;
    for (const request of [...unnamed, `${login}\r\nUser-Agent:`])
      expect(statuses(await sendRaw(stack.appUrl, `${request}\r\n\r\n${body}`))).toEqual([200]);
    const own = await logIn(ann, { "User-Agent": "laptop" });
    const sessions = (await bearer(own.accessToken).get("/me/sessions")).body.data;
    expect(sessions.map(({ userAgent }: Row) => userAgent).sort()).toEqual(["laptop", null, null, null]);
  });

  it("says for which origin a browser's session is, and moves last used with a refresh", async () => {
    const browser = new Browser(stack);
    await browser.logIn(credentials(), { Origin: stack.appUrl, "Sec-Fetch-Site": "same-origin" });
    const before = (await browser.get("/me/sessions")).body.data[0];
    expect(before.origin).toBe(stack.appUrl);
    const later = Browser.with(stack, { refreshToken: browser.cookies.refreshToken });
    const after = (await later.get("/me/sessions")).body.data[0];
    expect(Date.parse(after.lastUsedAt)).toBeGreaterThan(Date.parse(before.lastUsedAt));
  });

  it("shows no token, no hash and no epoch", async () => {
    const { accessToken } = await logIn();
    const [session] = (await bearer(accessToken).get("/me/sessions")).body.data;
    expect(Object.keys(session)).not.toContain("epochs");
    expect(JSON.stringify(session)).not.toMatch(/svc_rt_|eyJ|generation/);
  });

  it("leaves out sessions that are over, and is 401 without one", async () => {
    const [own, other] = [await logIn(), await logIn()];
    await bearer(other.accessToken).post("/auth/logout", {});
    expect((await bearer(own.accessToken).get("/me/sessions")).body.data).toHaveLength(1);
    expect((await apiOf(base).get("/me/sessions")).status).toBe(401);
  });
});

describe("DELETE /me/sessions/{id}", () => {
  it("is 404 for a session of somebody else, which lives on, and for none", async () => {
    const { accessToken } = await logIn();
    const [theirs] = (await admin.get("/me/sessions")).body.data;
    for (const id of [theirs.id, "AAAAAAAAAAAAAAAAAAAAAA", "x", "%24ne"]) {
      expect((await bearer(accessToken).delete(`/me/sessions/${id}`)).status).toBe(404);
    }
    expect((await admin.get("/me")).status).toBe(200);
  });
});

describe("sessions that a new password has ended", () => {
  it("are cleared away, but for those that the clock of another instance may have dated before it", async () => {
    const client = await MongoClient.connect(stack.mongodbUrl);
    try {
      const sessions = client.db().collection<{ _id: string }>("_sessions");
      const madeBefore = async (seconds: number): Promise<string> => {
        const sid = JSON.parse(
          Buffer.from((await logIn()).accessToken.split(".")[1], "base64url").toString(),
        ).sid;
        const createdAt = new Date(Date.now() - seconds * 1_000);
        await sessions.updateOne({ _id: sid }, { $set: { createdAt } });
        return sid;
      };
      const [old, young] = [await madeBefore(90), await madeBefore(20)];
      expect((await admin.patch(`/svc_user/${ann.id}`, { password: "a new password" })).status).toBe(200);
      const left = await sessions.find({ _id: { $in: [old, young] } }).toArray();
      expect(left.map(({ _id }) => _id)).toEqual([young]);
    } finally {
      await client.close();
    }
  });
});

describe("C16 sessions and tokens", () => {
  it.each(["/sessions", "/_sessions", "/svc_session", "/_api_tokens", "/_throttle", "/_signing_keys"])(
    "are no table: %s",
    async (path) => {
      expect((await admin.post(path, {})).status).toBe(404);
      expect((await admin.get(path)).status).toBe(404);
    },
  );
});

// Each with a person of its own, and at once: another instance may believe what it has looked up for five seconds.
describe("on every instance", () => {
  /** And something for a busy machine. */
  const WITHIN_MS = 5_000 + 1_500;
  const within5s = (wanted: number, ask: () => Promise<number>): Promise<number> =>
    until(ask, (status) => status === wanted, WITHIN_MS);
  const elsewhere = (token: string) => me(token, `${twin.appUrl}/api`);

  it.concurrent("a user has power that root gives or denies within five seconds, with the same token", async () => {
    const bob = await makePerson();
    const { accessToken } = await logIn(bob);
    const listed = async () => (await bearer(accessToken, `${twin.appUrl}/api`).get("/svc_user")).status;
    expect(await listed()).toBe(403);
    await admin.patch(`/svc_user/${bob.id}`, { isRootAdmin: true });
    await within5s(200, listed);
    await admin.patch(`/svc_user/${bob.id}`, { isRootAdmin: false });
    await within5s(403, listed);
  });

  it.concurrent("C7 a change of one's password keeps this session and ends the others", async () => {
    const bob = await makePerson();
    const [own, other] = [await logIn(bob), await logIn(bob)];
    expect([await me(other.accessToken), await elsewhere(other.accessToken)]).toEqual([200, 200]);
    expect((await bearer(own.accessToken).patch("/me", change(bob.password))).status).toBe(200);
    expect([await me(own.accessToken), await me(other.accessToken)]).toEqual([200, 401]);
    await within5s(401, () => elsewhere(other.accessToken));
    expect([await refresh(other.refreshToken), await refresh(own.refreshToken)]).toEqual([401, 200]);
    const statuses = [bob, { ...bob, password: "a new password" }].map(
      async (each) => (await logIn(each)).statusCode,
    );
    expect(await Promise.all(statuses)).toEqual([401, 200]);
  });

  it.concurrent("a session that is deleted ends, here at once, and the others go on", async () => {
    const bob = await makePerson();
    const [own, other] = [await logIn(bob), await logIn(bob)];
    expect(await elsewhere(other.accessToken)).toBe(200);
    const { body } = await bearer(own.accessToken).get("/me/sessions");
    const { id } = body.data.find(({ current }: Row) => !current);
    const { status, body: answer } = await bearer(own.accessToken).delete(`/me/sessions/${id}`);
    expect([status, answer]).toEqual([200, { statusCode: 200, message: "Success" }]);
    expect([await me(other.accessToken), await refresh(other.refreshToken)]).toEqual([401, 401]);
    await within5s(401, () => elsewhere(other.accessToken));
    expect(await me(own.accessToken)).toBe(200);
  });

  it.concurrent("C6 an access token is worth nothing after the log-out, here at once", async () => {
    const { accessToken } = await logIn(await makePerson());
    expect(await elsewhere(accessToken)).toBe(200);
    expect((await bearer(accessToken).post("/auth/logout", {})).status).toBe(200);
    expect(await me(accessToken)).toBe(401);
    await within5s(401, () => elsewhere(accessToken));
  });

  it.concurrent("a user to whom root gives another password has no session left", async () => {
    const bob = await makePerson();
    const [one, two] = [await logIn(bob), await logIn(bob)];
    expect(await elsewhere(one.accessToken)).toBe(200);
    expect((await admin.patch(`/svc_user/${bob.id}`, { password: "set by root" })).status).toBe(200);
    expect([await me(one.accessToken), await me(two.accessToken)]).toEqual([401, 401]);
    expect([await refresh(one.refreshToken), await refresh(two.refreshToken)]).toEqual([401, 401]);
    await within5s(401, () => elsewhere(one.accessToken));
  });

  it.concurrent("B6 a user whom root deactivates has no session left, not even when activated again", async () => {
    const bob = await makePerson();
    const { accessToken, refreshToken } = await logIn(bob);
    expect(await elsewhere(accessToken)).toBe(200);
    await admin.patch(`/svc_user/${bob.id}`, { isActive: false });
    expect([await me(accessToken), await refresh(refreshToken)]).toEqual([401, 401]);
    await within5s(401, () => elsewhere(accessToken));
    await admin.patch(`/svc_user/${bob.id}`, { isActive: true });
    expect([await me(accessToken), await refresh(refreshToken)]).toEqual([401, 401]);
    expect((await logIn(bob)).statusCode).toBe(200);
  });

  it.concurrent("a user whom root deletes is gone", async () => {
    const bob = await makePerson();
    const { accessToken, refreshToken } = await logIn(bob);
    expect(await elsewhere(accessToken)).toBe(200);
    await admin.delete(`/svc_user/${bob.id}`);
    await within5s(401, () => elsewhere(accessToken));
    expect(await refresh(refreshToken)).toBe(401);
  });
});
