// What the audit log says of a provider that was connected, or may have been, where the database is away in that moment.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { makeLogger } from "@portico/shared/logger";
import { secretHash } from "@portico/shared/secret-hash";
import { memoryAudit } from "../auth/auth-fixture.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { away } from "../mongo/driver-errors.js";
import { type IdentityStore, makeIdentityStore } from "../mongo/identity-store.js";
import { ANN, emptyIdentities } from "./identity-fixture.js";
import { type RedeemDeps, redeem } from "./redeem.js";

const CLIENT = { address: null, origin: null, userAgent: null };
const WISH = { code: "a code", flowCookies: ["a cookie"], requireFlowCookie: true, redirect: null };

let database: TestDatabase;
let store: IdentityStore;
let userId: string;

beforeAll(async () => {
  database = await openTestDatabase();
  store = makeIdentityStore(database.db, "svc_");
});
afterAll(() => database?.close());
beforeEach(async () => {
  await emptyIdentities(database);
  userId = store.identityUsers.newId();
  const unproved = { email: "ann@example.com", emailVerified: false, name: null, roleId: undefined };
  await store.identityUsers.insert({ ...unproved, id: userId, createdAt: new Date() });
});

/** Everything that connects the provider of a code to a signed-in user, or signs in by it. */
function deps(parts: Partial<RedeemDeps>, isSignIn = false): RedeemDeps & ReturnType<typeof memoryAudit> {
  const code = {
    codeHash: secretHash(WISH.code),
    flowCookieHash: secretHash("a cookie"),
    redirect: "http://localhost:3000/settings",
    isOwnOrigin: true,
    userId: isSignIn ? null : userId,
    identity: ANN,
    linkSessionId: isSignIn ? null : "a session",
    expiresAt: new Date(Date.now() + 60_000),
  };
  const live = { provider: null, origin: null, roleId: null, isRootAdmin: false, epoch: "", readAt: 0 };
  const none = async () => undefined;
  return {
    ...store,
    ...memoryAudit(),
    codes: { take: async () => code, find: none },
    sessions: { insert: none, remove: none },
    sessionCache: { find: async () => ({ ...live, expiresAt: code.expiresAt }), forgetSession: () => {} },
    users: { epochOf: async () => "" },
    tokens: {
      access: { ttlSeconds: 1, sign: async () => "", verify: () => Promise.reject(new Error("not asked")) },
      refresh: { write: () => "", read: () => undefined },
    },
    auditOnceAMinute: none,
    forgetUser: () => undefined,
    clock: { now: () => new Date() },
    oauthSignup: true,
    oauthSignupRole: undefined,
    rootOrigin: null,
    logger: makeLogger("test", "silent"),
    ...parts,
  };
}

describe("a provider that is connected is told in the audit log", () => {
  const event = "oauth.link";

  it("also where what follows from it can't be written", async () => {
    const proveAddress = () => Promise.reject(away(undefined));
    const all = deps({ identityUsers: { ...store.identityUsers, proveAddress } });
    await expect(redeem(all, WISH, CLIENT)).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(all.events).toEqual([{ event, userId, details: { provider: "google" } }]);
  });

  it("as uncertain where nobody knows whether it is", async () => {
    const link = () => Promise.reject(away(undefined));
    const all = deps({ accounts: { ...store.accounts, link } });
    await expect(redeem(all, WISH, CLIENT)).rejects.toMatchObject({ details: { uncertain: true } });
    expect(all.events).toEqual([{ event, userId, details: { provider: "google", uncertain: "true" } }]);
  });

  it("not where it was not even begun", async () => {
    const find = () => Promise.reject(away(undefined));
    const all = deps({ accounts: { ...store.accounts, find } });
    await expect(redeem(all, WISH, CLIENT)).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    expect(all.events).toEqual([]);
  });
});

it("what a user has lost whose address somebody else has proved is told, whatever becomes of the sign-in", async () => {
  const link = () => Promise.reject(away(undefined));
  const all = deps({ accounts: { ...store.accounts, link } }, true);
  await expect(redeem(all, WISH, CLIENT)).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  const details = { provider: "google", ended: "password, providers, sessions, API tokens" };
  expect(all.events).toEqual([{ event: "oauth.link", userId, details }]);
});

it("a user to whom nobody knows whether the provider was linked is told as uncertain", async () => {
  const linked: IdentityStore["accounts"]["link"] = async (...given) => {
    await store.accounts.link(...given);
    throw away(undefined);
  };
  await store.identityUsers.proveAddress(userId, "ann@example.com");
  const all = deps({ accounts: { ...store.accounts, link: linked } }, true);
  await expect(redeem(all, WISH, CLIENT)).rejects.toMatchObject({ details: { uncertain: true } });
  const details = { provider: "google", uncertain: "true" };
  expect(all.events).toEqual([{ event: "oauth.link", userId, details }]);
});
