// Signing in by password: the session, the refusals that are alike, and tries that are counted.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import { makeAccessTokens } from "./access-token.js";
import type { AuditEvent } from "./audit.js";
import { makeKeyRing, openThrottle } from "./auth-fixture.js";
import { type LogInDeps, type LogInUser, logIn } from "./log-in.js";
import { makeRefreshTokens } from "./refresh-token.js";
import type { Session } from "./session.js";
import type { Tokens } from "./token-pair.js";

const NOW = new Date("2026-01-01T12:00:00.500Z");
const DAY = 86_400_000;
const CLIENT = { origin: "https://app.example.com", userAgent: "test", address: "127.0.0.1" };
const ANN: LogInUser = {
  id: "64b000000000000000000001",
  passwordHash: "hash of right-password",
  isActive: true,
  epoch: "e1",
};

let tokens: Tokens;
let users: Map<string, LogInUser>;
let sessions: Session[];
let calls: string[];
let oldHash: boolean;
let events: AuditEvent[];

beforeAll(async () => {
  const ring = await makeKeyRing(generateKeyPairSync("ed25519").privateKey);
  tokens = {
    access: makeAccessTokens(ring, "https://app.example.com", 900),
    refresh: makeRefreshTokens(randomBytes(32)),
  };
});

beforeEach(() => {
  users = new Map([["ann@example.com", ANN]]);
  sessions = [];
  events = [];
  calls = [];
  oldHash = false;
});

const deps = (): LogInDeps => ({
  users: {
    epochOf: async () => "another",
    findByEmail: async (email) => users.get(email),
    replacePasswordHash: async (id, old, fresh) => {
      calls.push(`replace ${id}: ${old} -> ${fresh}`);
    },
  },
  sessions: {
    insert: async (session) => {
      sessions.push(session);
    },
  },
  hasher: {
    hash: async (password) => `fresh hash of ${password}`,
    verify: async (stored, password) => {
      calls.push("verify");
      return stored === `hash of ${password}`;
    },
    verifyNothing: async () => {
      calls.push("verifyNothing");
      return false;
    },
    needsRehash: () => oldHash,
  },
  tokens,
  clock: { now: () => NOW },
  throttle: openThrottle,
  digest: (email) => `digest of ${email}`,
  audit: { record: async (event) => void events.push(event) },
});

const attempt = (body: unknown) => logIn(deps(), body, CLIENT);

async function refusalOf(body: unknown): Promise<AppError> {
  try {
    await attempt(body);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("was not refused");
}

describe("logIn", () => {
  it("makes the session for the epoch in which the password was checked", async () => {
    await attempt({ email: "ann@example.com", password: "right-password" });
    expect(sessions[0]?.epochs).toEqual(["e1"]);
  });

  it("records who signed in, who failed, and of an unknown address only its digest", async () => {
    await attempt({ email: "ann@example.com", password: "right-password" });
    await refusalOf({ email: "ann@example.com", password: "wrong-password" });
    await refusalOf({ email: "who@example.com", password: "wrong-password" });
    expect(events).toEqual([
      { event: "sign-in", userId: ANN.id, details: { provider: "password" } },
      { event: "sign-in.failed", userId: ANN.id },
      { event: "sign-in.failed", details: { account: "digest of who@example.com" } },
    ]);
  });

  it("answers the pair of a new session of one day", async () => {
    const pair = await attempt({ email: " ANN@Example.com", password: "right-password" });
    const [session] = sessions;
    expect(session).toMatchObject({
      ...CLIENT,
      userId: ANN.id,
      generation: 0,
      createdAt: NOW,
      expiresAt: new Date(NOW.getTime() + DAY),
      remember: false,
    });
    expect(await tokens.access.verify(pair.accessToken, NOW)).toEqual({
      userId: ANN.id,
      sessionId: session?.id,
      origin: CLIENT.origin,
    });
    expect(tokens.refresh.read(pair.refreshToken)).toEqual({ sessionId: session?.id, generation: 0 });
    expect(pair).toMatchObject({
      expTime: new Date("2026-01-01T12:15:00.000Z").getTime(),
      refreshExpTime: NOW.getTime() + DAY,
      loginProvider: null,
    });
  });

  it("remembers for seven days when asked to", async () => {
    const pair = await attempt({ email: "ann@example.com", password: "right-password", remember: true });
    expect(pair.refreshExpTime).toBe(NOW.getTime() + 7 * DAY);
  });

  it("makes another session each time", async () => {
    await attempt({ email: "ann@example.com", password: "right-password" });
    await attempt({ email: "ann@example.com", password: "right-password" });
    expect(sessions[0]?.id).not.toBe(sessions[1]?.id);
  });

  it("replaces an old hash, and only a proved one", async () => {
    oldHash = true;
    await attempt({ email: "ann@example.com", password: "right-password" });
    await refusalOf({ email: "ann@example.com", password: "wrong-password" });
    expect(calls).toEqual([
      "verify",
      `replace ${ANN.id}: hash of right-password -> fresh hash of right-password`,
      "verify",
    ]);
  });

  it("lets in whose old hash can't be replaced just then", async () => {
    oldHash = true;
    const { users: kept, ...rest } = deps();
    const replacePasswordHash = () => Promise.reject(new Error("the database is away"));
    const users = { ...kept, replacePasswordHash };
    const body = { email: "ann@example.com", password: "right-password" };
    expect(await logIn({ ...rest, users }, body, CLIENT)).toMatchObject({ loginProvider: null });
  });

  it.each([
    ["a wrong password", ANN, "verify"],
    ["an unknown e-mail", undefined, "verifyNothing"],
    ["an account without password", { ...ANN, passwordHash: null }, "verifyNothing"],
    ["a deactivated account", { ...ANN, isActive: false }, "verifyNothing"],
  ])("refuses %s like every other, after as much work", async (name, user, work) => {
    users = new Map(user === undefined ? [] : [["ann@example.com", user]]);
    const password = name === "a wrong password" ? "wrong-password" : "right-password";
    const error = await refusalOf({ email: "ann@example.com", password });
    expect(error).toMatchObject({
      code: "INVALID_CREDENTIALS",
      status: 401,
      messages: "E-mail or password is wrong.",
    });
    expect([calls, sessions]).toEqual([[work], []]);
  });

  it.each<[unknown, string[]]>([
    [undefined, ["email: is required", "password: is required"]],
    [{}, ["email: is required", "password: is required"]],
    [{ email: ["a@b.c"], password: ["x"] }, ["email: must be text", "password: must be text"]],
    [{ email: { $ne: null }, password: null }, ["email: must be text", "password: must be text"]],
    [{ email: "", password: "" }, ["email: must not be empty", "password: must not be empty"]],
    [
      { email: "a@b.c", password: "x", remember: "true", $where: 1 },
      ["$where: unknown key; expected email, password, remember", "remember: must be true or false"],
    ],
    [{ email: "a@b.c", password: "x", remember: null }, ["remember: must be true or false"]],
    [
      JSON.parse('{"email":"a@b.c","password":"x","__proto__":{"remember":true}}'),
      ["__proto__: unknown key; expected email, password, remember"],
    ],
    [{ email: "a@b.c", password: "x".repeat(1025) }, ["password: must have at most 1024 characters"]],
    [{ email: "a".repeat(321), password: "x" }, ["email: must have at most 320 characters"]],
    [
      { email: "a\ud800@b.c", password: "passw\ud800rd1" },
      ["email: must be valid Unicode text", "password: must be valid Unicode text"],
    ],
    [[], ["body: must be a JSON object", "email: is required", "password: is required"]],
    ["text", ["body: must be a JSON object", "email: is required", "password: is required"]],
    [null, ["body: must be a JSON object", "email: is required", "password: is required"]],
  ])("names every violation: case %#", async (body, messages) => {
    expect(await refusalOf(body)).toMatchObject({ code: "VALIDATION_ERROR", messages });
    expect(calls).toEqual([]);
  });
});
