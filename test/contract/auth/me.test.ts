// Contract 3.2: PATCH /me, the user's sessions, and what ends them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient, ObjectId } from "mongodb";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, type Row } from "../records/make.js";
import { Browser } from "./jar.js";

let stack: Stack;
let twin: Stack;
let admin: Api;
let base: string;
let people = 0;
let ann: { id: string; email: string; password: string };

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

beforeEach(async () => {
  people += 1;
  const account = { email: `ann${people}@example.com`, password: "ann's password" };
  const { id } = await make(admin, "svc_user", { ...account, name: "Ann" });
  ann = { id, ...account };
});

const credentials = () => ({ email: ann.email, password: ann.password });
const logIn = async (headers: Record<string, string> = {}): Promise<Row> =>
  (await apiOf(base, headers).post("/auth/login", credentials())).body;
const bearer = (token: string, at = base) => apiOf(at, { Authorization: `Bearer ${token}` });
const refresh = async (refreshToken: string) =>
  (await apiOf(base).post("/auth/refresh-token", { refreshToken })).status;
const me = async (token: string, at = base) => (await bearer(token, at).get("/me")).status;

/** Asks until the answer is this one, five seconds at most. */
async function within5s(wanted: number, ask: () => Promise<number>): Promise<void> {
  await until(ask, (status) => status === wanted, 5_000);
}

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
  const change = (currentPassword: unknown) => ({ password: "a new password", currentPassword });

  it("C7 changes it, keeps this session and ends the others, on every instance", async () => {
    const [own, other] = [await logIn(), await logIn()];
    expect([await me(other.accessToken), await me(other.accessToken, `${twin.appUrl}/api`)]).toEqual([
      200, 200,
    ]);
    const { status } = await bearer(own.accessToken).patch("/me", change(ann.password));
    expect(status).toBe(200);
    expect([await me(own.accessToken), await me(other.accessToken)]).toEqual([200, 401]);
    await within5s(401, () => me(other.accessToken, `${twin.appUrl}/api`));
    expect([await refresh(other.refreshToken), await refresh(own.refreshToken)]).toEqual([401, 200]);
    const again = apiOf(base);
    expect((await again.post("/auth/login", credentials())).status).toBe(401);
    expect((await again.post("/auth/login", { ...credentials(), password: "a new password" })).status).toBe(
      200,
    );
  });

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
});

describe("GET /me/sessions", () => {
  it("lists one's own, the present one marked, with who and where", async () => {
    await logIn({ "User-Agent": "phone", "X-Forwarded-For": "203.0.113.9" });
    const own = await logIn({ "User-Agent": "laptop" });
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
  it("ends one at once here and within five seconds elsewhere, and leaves the others", async () => {
    const [own, other] = [await logIn(), await logIn()];
    expect(await me(other.accessToken, `${twin.appUrl}/api`)).toBe(200);
    const { body } = await bearer(own.accessToken).get("/me/sessions");
    const { id } = body.data.find(({ current }: Row) => !current);
    const { status, body: answer } = await bearer(own.accessToken).delete(`/me/sessions/${id}`);
    expect([status, answer]).toEqual([200, { statusCode: 200, message: "Success" }]);
    expect([await me(other.accessToken), await refresh(other.refreshToken)]).toEqual([401, 401]);
    await within5s(401, () => me(other.accessToken, `${twin.appUrl}/api`));
    expect(await me(own.accessToken)).toBe(200);
  });

  it("is 404 for a session of somebody else, which lives on, and for none", async () => {
    const { accessToken } = await logIn();
    const [theirs] = (await admin.get("/me/sessions")).body.data;
    for (const id of [theirs.id, "AAAAAAAAAAAAAAAAAAAAAA", "x", "%24ne"]) {
      expect((await bearer(accessToken).delete(`/me/sessions/${id}`)).status).toBe(404);
    }
    expect((await admin.get("/me")).status).toBe(200);
  });
});

describe("C6 an access token after the log-out", () => {
  it("is worth nothing here at once, and elsewhere within five seconds", async () => {
    const { accessToken } = await logIn();
    const elsewhere = () => me(accessToken, `${twin.appUrl}/api`);
    expect(await elsewhere()).toBe(200);
    expect((await bearer(accessToken).post("/auth/logout", {})).status).toBe(200);
    expect(await me(accessToken)).toBe(401);
    await within5s(401, elsewhere);
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

describe("a user changed by root", () => {
  it("with a new password has no session left, on every instance", async () => {
    const [one, two] = [await logIn(), await logIn()];
    expect(await me(one.accessToken, `${twin.appUrl}/api`)).toBe(200);
    expect((await admin.patch(`/svc_user/${ann.id}`, { password: "set by root" })).status).toBe(200);
    expect([await me(one.accessToken), await me(two.accessToken)]).toEqual([401, 401]);
    expect([await refresh(one.refreshToken), await refresh(two.refreshToken)]).toEqual([401, 401]);
    await within5s(401, () => me(one.accessToken, `${twin.appUrl}/api`));
  });

  it("B6 and deactivated has no session left on any instance, not even when activated again", async () => {
    const { accessToken, refreshToken } = await logIn();
    const elsewhere = () => me(accessToken, `${twin.appUrl}/api`);
    expect(await elsewhere()).toBe(200);
    await admin.patch(`/svc_user/${ann.id}`, { isActive: false });
    expect([await me(accessToken), await refresh(refreshToken)]).toEqual([401, 401]);
    await within5s(401, elsewhere);
    await admin.patch(`/svc_user/${ann.id}`, { isActive: true });
    expect([await me(accessToken), await refresh(refreshToken)]).toEqual([401, 401]);
    expect((await logIn()).statusCode).toBe(200);
  });

  it("and given or denied power has it within five seconds on every instance, with the same token", async () => {
    const { accessToken } = await logIn();
    const elsewhere = () =>
      bearer(accessToken, `${twin.appUrl}/api`)
        .get("/svc_user")
        .then(({ status }) => status);
    expect(await elsewhere()).toBe(403);
    await admin.patch(`/svc_user/${ann.id}`, { isRootAdmin: true });
    await within5s(200, elsewhere);
    await admin.patch(`/svc_user/${ann.id}`, { isRootAdmin: false });
    await within5s(403, elsewhere);
  });

  it("and deleted is gone within five seconds on every instance", async () => {
    const { accessToken, refreshToken } = await logIn();
    expect(await me(accessToken, `${twin.appUrl}/api`)).toBe(200);
    await admin.delete(`/svc_user/${ann.id}`);
    await within5s(401, () => me(accessToken, `${twin.appUrl}/api`));
    expect(await refresh(refreshToken)).toBe(401);
  });
});
