// Contract 8 and security row L5: the audit log, svc_audit.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Answer, type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { loggedByNow, untilLogged } from "../../support/process-facts.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make, type Row } from "../records/make.js";
import { Browser } from "./jar.js";

const ANN = { email: "ann@example.com", password: "ann's password" };

let stack: Stack;
let admin: Api;
let adminId: string;
let annId: string;
let base: string;
let database: MongoClient;

beforeAll(async () => {
  stack = await startStack({ env: { TRUST_PROXY: "loopback" } });
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
  adminId = (await admin.get("/me")).body.data[0].id;
  base = `${stack.appUrl}/api`;
  annId = (await make(admin, "svc_user", ANN)).id;
});

afterAll(async () => {
  await database.close();
  await stack.stop();
});

/** The entries of the request that was answered like this. */
async function entriesOf({ headers }: Answer): Promise<Row[]> {
  const filter = { correlationId: headers.get("x-correlation-id") };
  return (await admin.get("/svc_audit", { filter, sort: "createdAt" })).body.data;
}

const logIn = (credentials: object = ANN) => apiOf(base).post("/auth/login", credentials);
const bearer = (token: string) => apiOf(base, { Authorization: `Bearer ${token}` });

describe("an entry", () => {
  it("says what, who, when, from where, for which origin and in which request", async () => {
    const before = Date.now();
    const browser = new Browser(stack);
    const answer = await browser.post("/login", ANN, { Origin: stack.appUrl, "User-Agent": "laptop" });
    const [entry, ...more] = await entriesOf(answer);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      event: "sign-in",
      userId: annId,
      origin: stack.appUrl,
      userAgent: "laptop",
      address: "127.0.0.1",
      details: { provider: "password" },
      correlationId: answer.headers.get("x-correlation-id"),
    });
    expect(Date.parse(entry.createdAt)).toBeGreaterThanOrEqual(before);
  });

  it("is in the service's log, too", async () => {
    const id = (await logIn()).headers.get("x-correlation-id") ?? "";
    await untilLogged(stack.dataService, new RegExp(`"correlationId":"${id}".*"message":"audit"`));
  });
});

describe("what is recorded", () => {
  it("a failure, with the user if there is one, and never what was typed", async () => {
    const known = await logIn({ ...ANN, password: "a secret slip" });
    expect(await entriesOf(known)).toMatchObject([{ event: "sign-in.failed", userId: annId, details: null }]);
    const unknown = await logIn({ email: "my-password@example.com", password: "a secret slip" });
    const [entry] = await entriesOf(unknown);
    expect(entry).toMatchObject({ event: "sign-in.failed", userId: null });
    expect(entry.details).toEqual({ account: expect.stringMatching(/^[\w-]{22}$/) });
    const dump = JSON.stringify(await database.db().collection("svc_audit").find().toArray());
    expect(dump).not.toMatch(/a secret slip|my-password/);
    expect(await loggedByNow(stack)).not.toMatch(/a secret slip|my-password/);
  });

  it("the same digest for the same unknown address", async () => {
    const digests = [];
    for (const email of ["who@example.com", " WHO@example.com", "her@example.com"]) {
      const [entry] = await entriesOf(await logIn({ email, password: "wrong password" }));
      digests.push(entry.details.account);
    }
    expect(digests[0]).toBe(digests[1]);
    expect(digests[0]).not.toBe(digests[2]);
  });

  it("a refresh token that comes back", async () => {
    const { refreshToken } = (await logIn()).body;
    const next = (await apiOf(base).post("/auth/refresh-token", { refreshToken })).body;
    await apiOf(base).post("/auth/refresh-token", { refreshToken: next.refreshToken });
    const answer = await apiOf(base).post("/auth/refresh-token", { refreshToken });
    expect(answer.status).toBe(401);
    expect(await entriesOf(answer)).toMatchObject([{ event: "refresh.reuse", userId: annId }]);
  });

  it("a log-out and an ended session", async () => {
    const [own, other] = [(await logIn()).body, (await logIn()).body];
    const api = bearer(own.accessToken);
    const { data } = (await api.get("/me/sessions")).body;
    const { id } = data.find(({ current }: Row) => !current);
    expect(await entriesOf(await api.delete(`/me/sessions/${id}`))).toMatchObject([
      { event: "session.ended", userId: annId, details: { sessionId: id } },
    ]);
    expect(other.refreshToken).not.toBe(own.refreshToken);
    expect(await entriesOf(await api.post("/auth/logout", {}))).toMatchObject([
      { event: "sign-out", userId: annId },
    ]);
  });

  it("new users, who made them, and what power they have", async () => {
    const role = await make(admin, "svc_role", { name: "made with users" });
    const users = [
      { email: "plain@example.com", password: "a password" },
      { email: "mighty@example.com", password: "a password", role: role.id, isRootAdmin: true },
    ];
    const answer = await admin.post("/svc_user", users);
    const [plain, mighty] = answer.body.data;
    const by = adminId;
    const told = await entriesOf(answer);
    expect(told).toHaveLength(2);
    expect(told).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ event: "user.created", userId: plain.id, details: { by } }),
        expect.objectContaining({
          event: "user.created",
          userId: mighty.id,
          details: { by, role: role.id, isRootAdmin: "true" },
        }),
      ]),
    );
  });

  it("a password changed by its owner and by root, and who did it", async () => {
    const bob = { email: "bob@example.com", password: "bob's password" };
    const { id } = await make(admin, "svc_user", bob);
    const api = await signIn(base, bob);
    const wish = { password: "a new password", currentPassword: bob.password };
    expect(await entriesOf(await api.patch("/me", wish))).toMatchObject([
      { event: "password.changed", userId: id, details: { by: id } },
    ]);
    expect(await entriesOf(await admin.patch(`/svc_user/${id}`, { password: "set by root" }))).toMatchObject([
      { event: "password.changed", userId: id, details: { by: adminId } },
    ]);
    const failed = await (await signIn(base, { ...bob, password: "set by root" })).patch("/me", {
      password: "another password",
      currentPassword: "not that one",
    });
    expect(await entriesOf(failed)).toMatchObject([{ event: "sign-in.failed", userId: id }]);
  });

  it("a change of role, power or activity, and a deletion; and nothing for a refused or another change", async () => {
    const { id } = await make(admin, "svc_user", { email: "cid@example.com" });
    const role = await make(admin, "svc_role", { name: "Editor" });
    const patch = (change: object) => admin.patch(`/svc_user/${id}`, change).then(entriesOf);
    const by = adminId;
    expect(await patch({ role: role.id })).toMatchObject([
      { event: "role.changed", userId: id, details: { by, role: role.id } },
    ]);
    expect(await patch({ isRootAdmin: true, isActive: false })).toMatchObject([
      { event: "role.changed", userId: id, details: { by, isRootAdmin: "true" } },
      { event: "user.deactivated", userId: id, details: { by } },
    ]);
    expect(await patch({ name: "Cid" })).toEqual([]);
    expect(await patch({ isRootAdmin: "yes" })).toEqual([]);
    expect(await entriesOf(await admin.delete(`/svc_user/${id}`))).toMatchObject([
      { event: "user.deleted", userId: id, details: { by } },
    ]);
  });

  it("what a rule's presets have written, not what the body says", async () => {
    const [boss, plain] = [
      (await make(admin, "svc_role", { name: "Boss" })).id,
      (await make(admin, "svc_role", { name: "Plain" })).id,
    ];
    const credentials = { email: "boss@example.com", password: "the boss's password" };
    const { id: by } = await make(admin, "svc_user", { ...credentials, role: boss });
    const ofBoss = { role: boss, table: "svc_user" };
    await make(admin, "svc_permission", { ...ofBoss, action: "read" });
    const presets = { role: plain, isActive: false };
    await make(admin, "svc_permission", { ...ofBoss, action: "update", fields: "name", presets });
    const { id } = await make(admin, "svc_user", { email: "preset@example.com" });
    const api = await signIn(base, credentials);
    const changed = await api.patch(`/svc_user/${id}`, { name: "Preset", isActive: true, role: null });
    expect(changed.status).toBe(200);
    expect(await entriesOf(changed)).toMatchObject([
      { event: "role.changed", userId: id, details: { by, role: plain } },
      { event: "user.deactivated", userId: id, details: { by } },
    ]);
  });

  it("the role that a deletion takes from whoever has it, one by one or by a filter", async () => {
    for (const [at, remove] of [
      (role: string) => admin.delete(`/svc_role/${role}`),
      (role: string) => admin.delete(`/svc_role?filter=${JSON.stringify({ id: role })}`),
    ].entries()) {
      const role = (await make(admin, "svc_role", { name: `Passing ${at}` })).id;
      const { id } = await make(admin, "svc_user", { email: `passing${at}@example.com`, role });
      expect(await entriesOf(await remove(role))).toMatchObject([
        { event: "role.changed", userId: id, details: { by: adminId, role: "null" } },
      ]);
    }
  });

  it("another address, and an account that is woken again", async () => {
    const { id } = await make(admin, "svc_user", { email: "dot@example.com", isActive: false });
    const patch = (change: object) => admin.patch(`/svc_user/${id}`, change).then(entriesOf);
    const about = { userId: id, details: { by: adminId } };
    expect(await patch({ email: "dorothy@example.com" })).toMatchObject([
      { event: "email.changed", ...about },
    ]);
    expect(await patch({ isActive: true })).toMatchObject([{ event: "user.activated", ...about }]);
    expect(await patch({ isActive: false })).toMatchObject([{ event: "user.deactivated", ...about }]);
  });

  it("nothing of what a form sends along as it is", async () => {
    const { id: role } = await make(admin, "svc_role", { name: "Kept" });
    const { id } = await make(admin, "svc_user", { email: "same@example.com", role });
    const same = { email: " Same@Example.com ", role, isActive: true, isRootAdmin: false };
    const patch = (change: object) => admin.patch(`/svc_user/${id}`, change).then(entriesOf);
    expect(await patch({ ...same, name: "Same" })).toEqual([]);
    expect(await patch({ ...same, role: null })).toMatchObject([
      { event: "role.changed", userId: id, details: { by: adminId, role: "null" } },
    ]);
  });

  it("a token made and revoked, without the token", async () => {
    const api = await signIn(base, ANN);
    const made = await api.post("/auth/api-tokens", { name: "ci", expiresAt: "never" });
    const [{ id, token }] = made.body.data;
    expect(await entriesOf(made)).toMatchObject([
      { event: "token.made", userId: annId, details: { tokenId: id, name: "ci", readOnly: "false" } },
    ]);
    expect(JSON.stringify(await entriesOf(made))).not.toContain(token.slice(8));
    expect(await entriesOf(await api.delete(`/auth/api-tokens/${id}`))).toMatchObject([
      { event: "token.revoked", userId: annId, details: { tokenId: id } },
    ]);
  });

  it("a rotation of the signing key", async () => {
    const answer = await admin.post("/auth/keys/rotate");
    expect(await entriesOf(answer)).toMatchObject([
      { event: "keys.rotated", userId: adminId, details: { kid: answer.body.kid } },
    ]);
  });
});

describe("svc_audit", () => {
  it("is for root alone to read", async () => {
    expect((await apiOf(base).get("/svc_audit")).status).toBe(401);
    expect((await (await signIn(base, ANN)).get("/svc_audit")).status).toBe(403);
    const query = { filter: { event: "sign-in" }, fields: "event,userId", limit: "1", meta: "filterCount" };
    const { status, body } = await admin.get("/svc_audit", query);
    expect([status, body.meta.filterCount > 0, body.data[0].event]).toEqual([200, true, "sign-in"]);
  });

  it("can't be written by a visitor, who is not told to sign in for it", async () => {
    const answer = await apiOf(base).post("/svc_audit", { event: "sign-in" });
    expect([answer.status, answer.body.message]).toEqual([403, 'Nobody may create "svc_audit".']);
  });

  it("can't be written, changed or deleted over HTTP, by root neither", async () => {
    const [{ id }] = (await admin.get("/svc_audit", { limit: "1" })).body.data;
    const entries = database.db().collection("svc_audit");
    const before = await entries.find({}, { sort: { _id: 1 } }).toArray();
    for (const answer of [
      await admin.post("/svc_audit", { event: "sign-in" }),
      await admin.post("/svc_audit", [{ event: "sign-in" }]),
      await admin.patch(`/svc_audit/${id}`, { event: "nothing" }),
      await admin.delete(`/svc_audit/${id}`),
    ]) {
      expect([answer.status, answer.body.error.code]).toEqual([403, "FORBIDDEN"]);
    }
    const after = await entries.find({}, { sort: { _id: 1 } }).toArray();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.length).toBeGreaterThan(before.length);
    // The refusals themselves, and nothing that a body has named.
    for (const { event } of after.slice(before.length)) expect(event).toBe("access.refused");
  });

  it("tells of a 403 who asked for what, and of a loop of them once", async () => {
    const ann = await signIn(base, ANN);
    const refused = await ann.post("/svc_role", { name: "mine" });
    const again = await ann.post("/svc_role", { name: "mine" });
    const elsewhere = await ann.delete(`/svc_role/${annId}`);
    expect([refused.status, again.status, elsewhere.status]).toEqual([403, 403, 403]);
    const common = { event: "access.refused", userId: annId, address: expect.any(String) };
    expect(await entriesOf(refused)).toEqual([
      expect.objectContaining({ ...common, details: { method: "POST", path: "/api/svc_role" } }),
    ]);
    expect(await entriesOf(again)).toEqual([]);
    expect(await entriesOf(elsewhere)).toEqual([
      expect.objectContaining({ ...common, details: { method: "DELETE", path: `/api/svc_role/${annId}` } }),
    ]);
  });

  it("tells of a read-only API token once for each table that exists, however many are made up", async () => {
    const made = await admin.post("/auth/api-tokens", { name: "r", expiresAt: "never", readOnly: true });
    const reader = apiOf(base, { Authorization: `Bearer ${made.body.data[0].token}` });
    const inside = apiOf(stack.dataUrl, { Authorization: `Bearer ${made.body.data[0].token}` });
    const tellsOf = async (path: string, at = reader) => {
      const answer = await at.post(path, {});
      return [answer.status, (await entriesOf(answer)).map(({ details }) => details.path)];
    };
    expect(await tellsOf("/nowhere")).toEqual([403, ["/api/nowhere"]]);
    expect(await tellsOf("/svc_nowhere/a")).toEqual([403, []]);
    expect(await tellsOf(`/${"Ä".repeat(20)}`)).toEqual([403, []]);
    // Nobody hides by that what they try at the account, or at a table.
    expect(await tellsOf("/auth/api-tokens")).toEqual([403, ["/api/auth/api-tokens"]]);
    expect(await tellsOf("/svc_%72ole", inside)).toEqual([403, ["/api/svc_%72ole"]]);
    expect(await tellsOf("/svc_role")).toEqual([403, []]);
    expect(await tellsOf("/%ff", inside)).toEqual([403, []]);
  });

  it("tells of a foreign bridge code, and of a loop of them once for each network", async () => {
    const tryFrom = (address: string, letter: string) =>
      apiOf(base, { "X-Forwarded-For": address }).get("/auth/set-cookies", { code: letter.repeat(43) });
    const first = await tryFrom("2001:db8:0:7::1", "a");
    const loop = [await tryFrom("2001:db8:0:7::1", "a"), await tryFrom("2001:db8:0:7::2", "b")];
    const other = await tryFrom("203.0.113.7", "a");
    expect([first, ...loop, other].map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    const entry = { event: "bridge.replay", userId: null, details: { reason: "unknown" } };
    expect(await entriesOf(first)).toMatchObject([{ ...entry, address: "2001:db8:0:7::1" }]);
    expect((await Promise.all(loop.map(entriesOf))).flat()).toEqual([]);
    expect(await entriesOf(other)).toMatchObject([{ ...entry, address: "203.0.113.7" }]);
  });

  it("can't be reached by a relation, which a write could come in by", async () => {
    const relation = { name: "entry", type: "many-to-one", table: "svc_audit" };
    const { status, body } = await admin.post("/svc_table", {
      name: "cases",
      columns: [],
      relations: [relation],
    });
    expect([status, body.message]).toEqual([422, [expect.stringContaining("svc_audit")]]);
  });

  it("forgets what is older than 90 days, and nothing younger", async () => {
    const day = 24 * 60 * 60 * 1000;
    const old = (days: number) => {
      const at = new Date(Date.now() - days * day);
      return { event: `sign-in.${days}-days-ago`, createdAt: at, updatedAt: at };
    };
    await database
      .db()
      .collection("svc_audit")
      .insertMany([old(91), old(89)]);
    await stack.dataService.stop();
    await stack.restartDataService();
    const ages = async () => {
      const found = await database
        .db()
        .collection("svc_audit")
        .find({ event: /days-ago$/ })
        .toArray();
      return found.map(({ event }) => event);
    };
    expect(await until(ages, ({ length }) => length < 2)).toEqual(["sign-in.89-days-ago"]);
  });

  it("keeps no request from succeeding when it can't be written", async () => {
    const db = database.db();
    await db.renameCollection("svc_audit", "kept_audit");
    await db.createCollection("svc_audit", { validator: { $jsonSchema: { required: ["never"] } } });
    try {
      expect((await logIn()).status).toBe(200);
      expect((await logIn({ ...ANN, password: "wrong password" })).status).toBe(401);
      await untilLogged(stack.dataService, /audit entry not kept/);
    } finally {
      await db.renameCollection("kept_audit", "svc_audit", { dropTarget: true });
    }
  });
});
