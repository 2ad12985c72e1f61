// The session cache: one read for many, a few seconds old at most.
import { beforeEach, describe, expect, it } from "@jest/globals";
import { FIRST_EPOCH, type RootOrigin, type Session } from "./session.js";
import { type ActiveUser, makeSessionCache, type SessionCache } from "./session-cache.js";

const START = new Date("2026-01-01T12:00:00.000Z").getTime();
const APP_URL = "https://app.example.com";
const CHAT = "https://chat.example.com";
const ANN = "64b000000000000000000001";
const BOB = "64b000000000000000000002";

let time: number;
let reads: number;
let stored: Map<string, Session>;
let users: Map<string, ActiveUser>;
let failure: Error | undefined;
let rootOrigin: RootOrigin;
let cache: SessionCache;

beforeEach(() => {
  time = START;
  reads = 0;
  failure = undefined;
  rootOrigin = APP_URL;
  const now = new Date(START);
  const times = { rotatedAt: now, createdAt: now, lastUsedAt: now, expiresAt: new Date(START + 3_600_000) };
  const rest = {
    origin: null,
    generation: 0,
    remember: false,
    provider: null,
    userAgent: null,
    address: null,
  };
  stored = new Map([["s1", { id: "s1", userId: ANN, epochs: [FIRST_EPOCH], ...times, ...rest }]]);
  users = new Map([[ANN, { roleId: null, isRootAdmin: true, epoch: FIRST_EPOCH }]]);
  cache = makeSessionCache({
    sessions: {
      find: async (id) => {
        reads += 1;
        if (failure !== undefined) throw failure;
        return stored.get(id);
      },
    },
    users: { findActive: async (id) => users.get(id) },
    get rootOrigin() {
      return rootOrigin;
    },
    clock: { now: () => new Date(time) },
  });
});

describe("the session cache", () => {
  it("reads once for parallel requests and for five seconds", async () => {
    const found = await Promise.all(Array.from({ length: 20 }, () => cache.find("s1", ANN)));
    expect(found[19]).toMatchObject({ roleId: null, isRootAdmin: true });
    time += 5000;
    await cache.find("s1", ANN);
    expect(reads).toBe(1);
    time += 1;
    await cache.find("s1", ANN);
    expect(reads).toBe(2);
  });

  it.each([
    ["session", () => cache.forgetSession("s1")],
    ["user", () => cache.forgetUser(ANN)],
  ])("forgets a %s at once", async (_name, forget) => {
    expect(await cache.find("s1", ANN)).toBeDefined();
    stored.clear();
    expect(await cache.find("s1", ANN)).toBeDefined();
    forget();
    expect(await cache.find("s1", ANN)).toBeUndefined();
  });

  it("keeps nothing of a read that was forgotten while in flight", async () => {
    const inFlight = cache.find("s1", ANN);
    cache.forgetSession("s1");
    stored.clear();
    await inFlight;
    expect(await cache.find("s1", ANN)).toBeUndefined();
  });

  it("leaves other users alone", async () => {
    await cache.find("s1", ANN);
    cache.forgetUser(BOB);
    await cache.find("s1", ANN);
    expect(reads).toBe(1);
  });

  it("sees a role change and a deactivation within five seconds", async () => {
    await cache.find("s1", ANN);
    users.set(ANN, { roleId: "64b0000000000000000000aa", isRootAdmin: false, epoch: FIRST_EPOCH });
    time += 5001;
    expect(await cache.find("s1", ANN)).toMatchObject({
      roleId: "64b0000000000000000000aa",
      isRootAdmin: false,
    });
    users.clear();
    time += 5001;
    expect(await cache.find("s1", ANN)).toBeUndefined();
  });

  it("sees a new epoch of the user, which ends the session, within five seconds", async () => {
    await cache.find("s1", ANN);
    users.set(ANN, { roleId: null, isRootAdmin: true, epoch: "another" });
    time += 5001;
    expect(await cache.find("s1", ANN)).toBeUndefined();
  });

  it.each([
    ["of a provider on another origin", { provider: "google", origin: CHAT }, false],
    ["of a provider on the app's own", { provider: "google", origin: APP_URL }, true],
    ["of a password on another origin", { provider: null, origin: CHAT }, true],
  ])("of a user who becomes root admin keeps or drops the session %s (A22)", async (_name, how, isKept) => {
    const session = stored.get("s1");
    if (session === undefined) throw new Error("missing");
    stored.set("s1", { ...session, ...how });
    const user = { roleId: null, epoch: FIRST_EPOCH };
    users.set(ANN, { ...user, isRootAdmin: false });
    expect(await cache.find("s1", ANN)).toBeDefined();
    users.set(ANN, { ...user, isRootAdmin: true });
    time += 5001;
    expect((await cache.find("s1", ANN)) !== undefined).toBe(isKept);
  });

  it("keeps a root admin's session of a provider on any origin under OAUTH_ROOT_ELSEWHERE", async () => {
    const session = stored.get("s1");
    if (session === undefined) throw new Error("missing");
    stored.set("s1", { ...session, provider: "google", origin: CHAT });
    rootOrigin = null;
    expect(await cache.find("s1", ANN)).toBeDefined();
  });

  it("finds no session for another user's token", async () => {
    users.set(BOB, { roleId: null, isRootAdmin: false, epoch: FIRST_EPOCH });
    expect(await cache.find("s1", BOB)).toBeUndefined();
    expect(await cache.find("s1", ANN)).toBeDefined();
    expect(await cache.find("s1", BOB)).toBeUndefined();
  });

  it("ends an expired session to the millisecond, and sees one refreshed meanwhile", async () => {
    const session = stored.get("s1");
    if (session === undefined) throw new Error("missing");
    stored.set("s1", { ...session, expiresAt: new Date(START + 1000) });
    await cache.find("s1", ANN);
    time += 1000;
    expect(await cache.find("s1", ANN)).toBeUndefined();
    stored.set("s1", { ...session, expiresAt: new Date(START + 1000) });
    cache.forgetSession("s1");
    time -= 1;
    await cache.find("s1", ANN);
    stored.set("s1", { ...session, expiresAt: new Date(START + 86_400_000) });
    time += 1;
    expect(await cache.find("s1", ANN)).toBeDefined();
  });

  it("does not remember a failed read", async () => {
    failure = new Error("database away");
    await expect(cache.find("s1", ANN)).rejects.toThrow("database away");
    failure = undefined;
    expect(await cache.find("s1", ANN)).toBeDefined();
  });
});
