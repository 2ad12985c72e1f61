// The auth stores and the races they decide, on a real engine.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { makeAccessTokens } from "@portico/data-service/auth/access-token";
import { makeKeyRing, memoryAudit, openThrottle } from "@portico/data-service/auth/auth-fixture";
import { ensureFirstAdmin } from "@portico/data-service/auth/first-admin";
import { issueSession } from "@portico/data-service/auth/issue-session";
import { logIn } from "@portico/data-service/auth/log-in";
import { logOut } from "@portico/data-service/auth/log-out";
import { makePasswordHasher } from "@portico/data-service/auth/password-hasher";
import { refresh } from "@portico/data-service/auth/refresh";
import { makeRefreshTokens } from "@portico/data-service/auth/refresh-token";
import { FIRST_EPOCH, type Session } from "@portico/data-service/auth/session";
import { makeSessionCache } from "@portico/data-service/auth/session-cache";
import type { Tokens } from "@portico/data-service/auth/token-pair";
import { buildCatalog } from "@portico/data-service/catalog/build-catalog";
import { systemTables } from "@portico/data-service/catalog/system-tables";
import { makeApiTokenStore } from "@portico/data-service/mongo/api-token-store";
import { makeAuditStore } from "@portico/data-service/mongo/audit-store";
import { connectStore, type Store } from "@portico/data-service/mongo/connect";
import { provisionTable } from "@portico/data-service/mongo/provision";
import {
  authSweeps,
  ensureAuthIndexes,
  makeSessionStore,
  type SessionStore,
} from "@portico/data-service/mongo/session-store";
import { makeThrottleStore } from "@portico/data-service/mongo/throttle-store";
import { makeUserStore, type UserStore, userCollection } from "@portico/data-service/mongo/user-store";
import { ANONYMOUS } from "@portico/data-service/principal";
import { makeLogger } from "@portico/shared/logger";
import { type Db, ObjectId } from "mongodb";
import { freshDatabase } from "../support/stack.js";

const PREFIX = "svc_";
const ANN = new ObjectId();
/** Of "ann's password", with less memory than we use now. */
const WEAK_HASH =
  "$argon2id$v=19$m=8192,t=2,p=1$adGYLD2T4RkxNUNim/3wrw$B6zS+v2YTEA2bkPHROnkGLbmuOTBG3OGpb6p08Gdh74";
const HOUR_MS = 3_600_000;
const CLIENT = { origin: "https://app.example.com", userAgent: "test", address: "127.0.0.1" };
const clock = { now: () => new Date() };
const hasher = makePasswordHasher();
const log = makeLogger("test", "silent");

let store: Store;
let db: Db;
let sessions: SessionStore;
let users: UserStore;
let tokens: Tokens;

beforeAll(async () => {
  store = await connectStore(freshDatabase());
  db = store.db;
  await ensureAuthIndexes(db, PREFIX);
  sessions = makeSessionStore(db);
  users = makeUserStore(db, PREFIX);
  const ring = await makeKeyRing(generateKeyPairSync("ed25519").privateKey);
  tokens = {
    access: makeAccessTokens(ring, "https://app.example.com", 900),
    refresh: makeRefreshTokens(randomBytes(32)),
  };
});

afterAll(async () => {
  await db.dropDatabase();
  await db?.dropDatabase();
  await store?.close();
});

const ann = {
  email: "ann@example.com",
  name: "Ann",
  isActive: true,
  isRootAdmin: false,
  createdAt: new Date(),
  updatedAt: new Date(),
};

beforeEach(async () => {
  await Promise.all(
    ["_sessions", "_markers", `${PREFIX}user`].map((name) => db.collection(name).deleteMany({})),
  );
  await userCollection(db, PREFIX).insertOne({ _id: ANN, ...ann });
});

const deps = () => ({
  appUrl: CLIENT.origin,
  rootOrigin: null,
  sessions,
  users,
  tokens,
  clock,
  hasher,
  sessionCache: makeSessionCache({ sessions, users, rootOrigin: null, clock }),
  throttle: openThrottle,
  digest: (email: string) => email,
  audit: memoryAudit().audit,
});
const signIn = (remember = false) =>
  issueSession(deps(), { userId: ANN.toHexString(), remember, provider: null }, CLIENT);
const parallel = <Result>(count: number, task: () => Promise<Result>) =>
  Promise.allSettled(Array.from({ length: count }, task));

describe("the throttle store", () => {
  it("lets a try pass whose clock is behind that of the one before", async () => {
    const throttles = makeThrottleStore(db);
    const bound = { free: 3, firstMs: 1_000, longestMs: 60_000, forgetMs: 3_600_000 };
    const now = Date.now();
    const take = (at: number) => throttles.take([{ key: "account:ann", bound }], new Date(at));
    expect(await take(now)).toBeUndefined();
    expect(await take(now - 500)).toBeUndefined();
    expect(await take(now)).toBeUndefined();
    expect(await take(now)).toMatchObject({ retryAt: expect.any(Date) });
  });

  it.each([
    ["a window", { limit: 2, windowMs: 60_000 }],
    ["a growing delay", { free: 2, firstMs: 1_000, longestMs: 60_000, forgetMs: 3_600_000 }],
  ])("refuses nobody by %s from a clock that has been set back since", async (what, bound) => {
    const throttles = makeThrottleStore(db);
    const now = Date.now();
    const take = (at: number) => throttles.take([{ key: `set back: ${what}`, bound }], new Date(at));
    const refused = { retryAt: expect.any(Date) };
    for (const at of [now, now - 3 * HOUR_MS]) {
      expect([await take(at), await take(at)]).toEqual([undefined, undefined]);
      expect(await take(at)).toMatchObject(refused);
    }
  });

  it("counts within one window what others admit by clocks that differ by less than it lasts", async () => {
    const throttles = makeThrottleStore(db);
    const bound = { limit: 3, windowMs: 60_000 };
    const now = Date.now();
    const take = (at: number) => throttles.take([{ key: "two clocks", bound }], new Date(at));
    expect([await take(now), await take(now - 50_000), await take(now)]).toEqual(Array(3).fill(undefined));
    expect([await take(now - 50_000), await take(now)]).toEqual(
      Array(2).fill({ at: 0, retryAt: new Date(now + 60_000) }),
    );
  });
});

/** A server alone refuses what is to be confirmed by two. */
const unconfirmedDb = (): Db => store.client.db(db.databaseName, { writeConcern: { w: 2, journal: true } });

describe("what is only noted beside a sign-in or a read", () => {
  it("is written to the audit log without the other members of a set", async () => {
    const entry = { event: "sign-in", userId: ANN.toHexString(), at: new Date(), client: CLIENT } as const;
    await makeAuditStore(unconfirmedDb(), PREFIX).append([entry]);
    expect(await db.collection(`${PREFIX}audit`).countDocuments({ userId: ANN })).toBe(1);
  });

  it("is written to an API token without the other members of a set", async () => {
    const wish = { name: "mine", readOnly: false, provider: null, origin: null, expiresAt: null };
    const token = { ...wish, userId: ANN.toHexString(), createdAt: new Date(), lastUsedAt: null };
    const { id } = await makeApiTokenStore(db).insert(token, "a hash");
    const now = new Date();
    await makeApiTokenStore(unconfirmedDb()).noteUse(id, now, now);
    expect(await makeApiTokenStore(db).findOf(ANN.toHexString(), id)).toMatchObject({ lastUsedAt: now });
  });
});

describe("the session store", () => {
  const session: Session = {
    id: "AAAAAAAAAAAAAAAAAAAAAA",
    userId: ANN.toHexString(),
    epochs: [FIRST_EPOCH],
    ...CLIENT,
    generation: 3,
    rotatedAt: new Date(),
    createdAt: new Date(),
    lastUsedAt: new Date(),
    expiresAt: new Date(Date.now() + 60_000),
    remember: true,
    provider: null,
  };

  it("gives back what was stored, with the user's id as ObjectId in the database", async () => {
    await sessions.insert(session);
    expect(await sessions.find(session.id)).toEqual(session);
    const raw = await db.collection<{ _id: string }>("_sessions").findOne({ _id: session.id });
    expect(raw).toMatchObject({ userId: ANN, expiresAt: session.expiresAt });
    expect(raw).not.toHaveProperty("id");
  });

  it("rotates once for a generation", async () => {
    await sessions.insert(session);
    const next = { rotatedAt: new Date(), expiresAt: new Date(Date.now() + 120_000) };
    const all = await parallel(20, () => sessions.rotate(session.id, 3, next));
    const won = all.flatMap((each) => (each.status === "fulfilled" && each.value ? [each.value] : []));
    const times = { ...next, lastUsedAt: next.rotatedAt, supersededAt: expect.any(Date) };
    expect(won).toEqual([{ ...session, ...times, generation: 4 }]);
    expect(await sessions.find(session.id)).toEqual(won[0]);
  });

  it("sweeps away what has expired, and nothing else", async () => {
    await sessions.insert({ ...session, id: "expired", expiresAt: new Date(Date.now() - 1) });
    await sessions.insert({ ...session, id: "alive" });
    for (const sweep of authSweeps(db)) await sweep(new Date());
    const found = await Promise.all(["expired", "alive"].map((id) => sessions.find(id)));
    expect(found.map((each) => each?.id)).toEqual([undefined, "alive"]);
  });

  it("keeps the thousand of a user that were used last, and those of others", async () => {
    const usedAt = (seconds: number) => new Date(session.lastUsedAt.getTime() - seconds * 1000);
    const never = makeSessionStore(db, () => 0.99);
    for (let at = 1; at <= 1_002; at += 1)
      await never.insert({ ...session, id: `used-${at}`, lastUsedAt: usedAt(at) });
    await never.insert({
      ...session,
      id: "of-another",
      userId: new ObjectId().toHexString(),
      lastUsedAt: usedAt(9_999),
    });
    expect(await sessions.listOf(session.userId, new Date())).toHaveLength(1_002);
    await makeSessionStore(db, () => 0).insert(session);
    const ids = [session.id, "used-999", "used-1000", "used-1002", "of-another"];
    const found = await Promise.all(ids.map((id) => sessions.find(id)));
    expect(found.map((each) => each?.id)).toEqual([
      session.id,
      "used-999",
      undefined,
      undefined,
      "of-another",
    ]);
  });

  it("rotates no expired session, swept or not", async () => {
    await sessions.insert({ ...session, createdAt: new Date(0), expiresAt: new Date(Date.now() - 1) });
    const next = { rotatedAt: new Date(), expiresAt: new Date(Date.now() + 120_000) };
    expect(await sessions.rotate(session.id, 3, next)).toBeUndefined();
  });

  it("removes, and forgives a second time", async () => {
    await sessions.insert(session);
    await sessions.remove(session.id);
    await sessions.remove(session.id);
    expect(await sessions.find(session.id)).toBeUndefined();
  });

  it("has its indexes", async () => {
    const indexes = await db.collection("_sessions").indexes();
    expect(indexes.map(({ key, expireAfterSeconds }) => [key, expireAfterSeconds])).toEqual([
      [{ _id: 1 }, undefined],
      [{ userId: 1 }, undefined],
      [{ expiresAt: 1 }, 0],
    ]);
    await ensureAuthIndexes(db, PREFIX);
  });

  it("holds no token and nothing a token could be made of", async () => {
    const pair = await signIn();
    const dump = JSON.stringify(await db.collection("_sessions").find().toArray());
    expect(dump).not.toContain(pair.accessToken);
    expect(dump).not.toContain(pair.refreshToken);
    const mac = pair.refreshToken.slice(-42);
    expect(dump).not.toContain(mac);
  });

  it("begins and moves a session on without the other members of a set, and waits for them to end it", async () => {
    const unconfirmed = makeSessionStore(unconfirmedDb());
    await unconfirmed.insert(session);
    const next = { rotatedAt: new Date(), expiresAt: session.expiresAt };
    const rotated = await unconfirmed.rotate(session.id, 3, next);
    expect(rotated).toMatchObject({ generation: 4 });
    await expect(unconfirmed.remove(session.id)).rejects.toMatchObject({ name: "MongoServerError" });
  });

  it("begins one beside a thousand without the other members of a set", async () => {
    const { id, userId, ...rest } = session;
    const others = Array.from({ length: 1_000 }, (_, at) => ({ _id: `other-${at}`, userId: ANN, ...rest }));
    await db.collection<{ _id: string }>("_sessions").insertMany(others);
    await makeSessionStore(unconfirmedDb(), () => 0).insert({ id, userId, ...rest });
    expect(await sessions.find(id)).toEqual(session);
    expect(await sessions.listOf(userId, new Date())).toHaveLength(1_000);
  });
});

describe("the user store", () => {
  it("finds users by their stored e-mail only, whatever is asked", async () => {
    expect(await users.findByEmail("ann@example.com")).toEqual({
      id: ANN.toHexString(),
      passwordHash: null,
      isActive: true,
      epoch: FIRST_EPOCH,
    });
    expect(await users.findByEmail("ann@example.org")).toBeUndefined();
    expect(await users.findByEmail("$ne")).toBeUndefined();
  });

  it("keeps one account per e-mail", async () => {
    await expect(userCollection(db, PREFIX).insertOne({ _id: new ObjectId(), ...ann })).rejects.toMatchObject(
      {
        code: 11_000,
      },
    );
  });

  it("finds them by index", async () => {
    const plan = await userCollection(db, PREFIX)
      .find({ email: { $eq: "ann@example.com" } })
      .explain("queryPlanner");
    expect(JSON.stringify(plan)).toContain('"indexName":"email_1"');
  });

  it("shares its index with the catalog's table", async () => {
    const table = buildCatalog(0, [], systemTables(PREFIX)).tables.get(`${PREFIX}user`);
    if (table === undefined) throw new Error("missing table");
    await provisionTable(db, table);
    await ensureAuthIndexes(db, PREFIX);
    const names = (await userCollection(db, PREFIX).indexes()).map(({ name }) => name);
    expect(names.filter((name) => name?.includes("email"))).toEqual(["email_1"]);
  });

  it("replaces a hash only while it is the stored one", async () => {
    await userCollection(db, PREFIX).updateOne({ _id: ANN }, { $set: { passwordHash: "old" } });
    await users.replacePasswordHash(ANN.toHexString(), "older", "wrong");
    expect((await users.findByEmail("ann@example.com"))?.passwordHash).toBe("old");
    await users.replacePasswordHash(ANN.toHexString(), "old", "fresh");
    expect((await users.findByEmail("ann@example.com"))?.passwordHash).toBe("fresh");
  });

  it("replaces a hash without the other members of a set, as a sign-in waits for it", async () => {
    await userCollection(db, PREFIX).updateOne({ _id: ANN }, { $set: { passwordHash: "old" } });
    await makeUserStore(unconfirmedDb(), PREFIX).replacePasswordHash(ANN.toHexString(), "old", "fresh");
    expect((await users.findByEmail("ann@example.com"))?.passwordHash).toBe("fresh");
  });

  it("says the address of a user, and none of nobody", async () => {
    expect(await users.emailOf(ANN.toHexString())).toBe("ann@example.com");
    expect(await users.emailOf(new ObjectId().toHexString())).toBeUndefined();
  });

  it("finds active users with their role", async () => {
    const roleId = new ObjectId();
    await userCollection(db, PREFIX).updateOne({ _id: ANN }, { $set: { roleId, isRootAdmin: true } });
    expect(await users.findActive(ANN.toHexString())).toEqual({
      roleId: roleId.toHexString(),
      isRootAdmin: true,
      epoch: FIRST_EPOCH,
    });
    await userCollection(db, PREFIX).updateOne({ _id: ANN }, { $set: { isActive: false } });
    expect(await users.findActive(ANN.toHexString())).toBeUndefined();
  });
});

describe("sign-in on the stores", () => {
  it("takes a password, upgrades an old hash, and refuses after deactivation", async () => {
    const users = userCollection(db, PREFIX);
    await users.updateOne({ _id: ANN }, { $set: { passwordHash: WEAK_HASH } });
    const body = { email: "Ann@Example.com ", password: "ann's password" };
    const pair = await logIn(deps(), body, CLIENT);
    expect(await sessions.find(tokens.refresh.read(pair.refreshToken)?.sessionId ?? "")).toMatchObject(
      CLIENT,
    );
    expect((await users.findOne({ _id: ANN }))?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect((await logIn(deps(), body, CLIENT)).loginProvider).toBeNull();
    await users.updateOne({ _id: ANN }, { $set: { isActive: false } });
    await expect(logIn(deps(), body, CLIENT)).rejects.toMatchObject({ code: "INVALID_CREDENTIALS" });
    await expect(refresh(deps(), { refreshToken: pair.refreshToken }, CLIENT, log)).rejects.toMatchObject({
      status: 401,
    });
  });

  it("gives parallel refreshers of several instances one successor, round after round", async () => {
    let { refreshToken } = await signIn(true);
    for (let round = 0; round < 20; round += 1) {
      const all = await parallel(10, () => refresh(deps(), { refreshToken }, CLIENT, log));
      const pairs = all.map((each) => (each.status === "fulfilled" ? each.value : String(each.reason)));
      expect(new Set(pairs.map((pair) => JSON.stringify(pair))).size).toBe(1);
      const [pair] = pairs;
      if (pair === undefined || typeof pair === "string") throw new Error(`refused: ${pair}`);
      expect(tokens.refresh.read(pair.refreshToken)?.generation).toBe(round + 1);
      refreshToken = pair.refreshToken;
    }
  });

  it("answers the previous token alike soon after a rotation whose command took long to come here", async () => {
    const { refreshToken } = await signIn();
    const sent = { now: () => new Date(Date.now() - 40_000) };
    const pair = await refresh({ ...deps(), clock: sent }, { refreshToken }, CLIENT, log);
    expect(await refresh(deps(), { refreshToken }, CLIENT, log)).toEqual(pair);
  });

  it("leaves nothing valid when log-out races with refresh", async () => {
    for (let round = 0; round < 20; round += 1) {
      const { refreshToken } = await signIn();
      const [refreshed] = await Promise.allSettled([
        refresh(deps(), { refreshToken }, CLIENT, log),
        logOut(deps(), { refreshToken }, ANONYMOUS, CLIENT),
      ]);
      const held =
        refreshed.status === "fulfilled" ? [refreshToken, refreshed.value.refreshToken] : [refreshToken];
      for (const token of held) {
        await expect(refresh(deps(), { refreshToken: token }, CLIENT, log)).rejects.toMatchObject({
          code: "INVALID_TOKEN",
        });
      }
    }
    expect(await db.collection("_sessions").countDocuments()).toBe(0);
  });

  it("revokes the session, newest token included, when an old one is replayed", async () => {
    const first = await signIn();
    const second = await refresh(deps(), { refreshToken: first.refreshToken }, CLIENT, log);
    const third = await refresh(deps(), { refreshToken: second.refreshToken }, CLIENT, log);
    for (const { refreshToken } of [first, third]) {
      await expect(refresh(deps(), { refreshToken }, CLIENT, log)).rejects.toMatchObject({
        code: "INVALID_TOKEN",
      });
    }
  });
});

describe("a session whose password was changed", () => {
  const live = (id: string) =>
    makeSessionCache({ sessions, users, rootOrigin: null, clock }).find(id, ANN.toHexString());
  const sessionOf = ({ refreshToken }: { refreshToken: string }) =>
    tokens.refresh.read(refreshToken)?.sessionId ?? "";
  const setEpoch = (sessionEpoch: string) =>
    userCollection(db, PREFIX).updateOne({ _id: ANN }, { $set: { sessionEpoch } });

  it("is dead by that write alone, though nothing has deleted it, and can't be refreshed", async () => {
    const pair = await signIn();
    await setEpoch("after");
    expect(await sessions.find(sessionOf(pair))).toBeDefined();
    expect(await live(sessionOf(pair))).toBeUndefined();
    await expect(refresh(deps(), { refreshToken: pair.refreshToken }, CLIENT, log)).rejects.toMatchObject({
      code: "INVALID_TOKEN",
    });
  });

  it("is dead from the start when the change came between the check of the password and the session", async () => {
    const { epoch } = (await users.findById(ANN.toHexString())) ?? {};
    await setEpoch("after");
    const who = { userId: ANN.toHexString(), remember: false, provider: null };
    const late = await issueSession(deps(), { ...who, ...(epoch === undefined ? {} : { epoch }) }, CLIENT);
    expect(await live(sessionOf(late))).toBeUndefined();
    expect(await live(sessionOf(await signIn()))).toBeDefined();
  });

  it("lives on when it takes part in the change, before, during and after it", async () => {
    const pair = await signIn();
    const other = await signIn();
    await sessions.addEpoch(sessionOf(pair), "after");
    expect([await live(sessionOf(pair)), await live(sessionOf(other))]).not.toContain(undefined);
    await setEpoch("after");
    expect(await live(sessionOf(pair))).toBeDefined();
    await sessions.removeAllBut(ANN.toHexString(), "after", new Date(Date.now() + 1_000));
    expect((await sessions.listOf(ANN.toHexString(), new Date())).map(({ id }) => id)).toEqual([
      sessionOf(pair),
    ]);
    const next = await refresh(deps(), { refreshToken: pair.refreshToken }, CLIENT, log);
    expect(await live(sessionOf(next))).toBeDefined();
  });

  it("is not cleared away with those of an epoch that was asked for before it was made", async () => {
    const asOf = new Date();
    const { epoch = "" } = (await users.findById(ANN.toHexString())) ?? {};
    await setEpoch("after");
    const pair = await signIn();
    await sessions.removeAllBut(ANN.toHexString(), epoch, asOf);
    expect(await live(sessionOf(pair))).toBeDefined();
  });
});

describe("the first admin on the stores", () => {
  it("is one, and its password is said once, however many instances start", async () => {
    const wanted = { email: "admin@example.com", password: undefined };
    const all = await parallel(10, () => ensureFirstAdmin({ ...deps(), logger: log }, wanted));
    const said = all.flatMap((each) => (each.status === "fulfilled" && each.value ? [each.value] : []));
    expect(all.map(({ status }) => status)).toEqual(Array(10).fill("fulfilled"));
    expect(said).toHaveLength(1);
    expect(await userCollection(db, PREFIX).countDocuments({ isRootAdmin: true })).toBe(1);
    const [admin] = said;
    const pair = await logIn(deps(), { email: admin?.email, password: admin?.password }, CLIENT);
    expect(pair.accessToken).toMatch(/^eyJ/);
  });

  it("is one even if the instances were given different addresses", async () => {
    const emails = ["a@example.com", "b@example.com", "c@example.com"];
    await Promise.all(
      emails.map((email) =>
        ensureFirstAdmin({ ...deps(), logger: log }, { email, password: "given-password" }),
      ),
    );
    expect(await userCollection(db, PREFIX).countDocuments({ isRootAdmin: true })).toBe(1);
  });

  it("is a new one when the former is switched off, once, however many instances start", async () => {
    const start = (email: string) =>
      ensureFirstAdmin({ ...deps(), logger: log }, { email, password: "given-password" });
    await start("former@example.com");
    await userCollection(db, PREFIX).updateOne(
      { email: "former@example.com" },
      { $set: { isActive: false } },
    );
    await parallel(10, () => start("later@example.com"));
    const admins = await userCollection(db, PREFIX).find({ isRootAdmin: true }).toArray();
    expect(admins.map(({ email, isActive }) => [email, isActive])).toEqual([
      ["former@example.com", false],
      ["later@example.com", true],
    ]);
  });
});
