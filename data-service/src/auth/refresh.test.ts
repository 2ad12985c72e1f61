// Refreshing, lending and ending a session, races included (contract 3.1).
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import { makeLogger } from "@portico/shared/logger";
import { ANONYMOUS } from "../principal.js";
import { maybeWritten } from "../records/whole/uncertain.js";
import { makeAccessTokens } from "./access-token.js";
import { makeKeyRing, memoryAudit, openThrottle } from "./auth-fixture.js";
import type { ClientFacts } from "./client-facts.js";
import { lendAccessToken } from "./lend-access-token.js";
import { type LogOutDeps, logOut } from "./log-out.js";
import { type RefreshDeps, refresh } from "./refresh.js";
import { makeRefreshTokens } from "./refresh-token.js";
import { FIRST_EPOCH, type Session } from "./session.js";
import type { Tokens } from "./token-pair.js";

const START = new Date("2026-01-01T12:00:00.500Z").getTime();
const SECOND = 1000;
const DAY = 86_400 * SECOND;
const ID = "AAAAAAAAAAAAAAAAAAAAAA";

let tokens: Tokens;
let time: number;
let active: boolean;
let isRootAdmin: boolean;
let epoch: string;
const memory = memoryAudit();
const APP_URL = "https://app.example.com";
const CLIENT = { origin: null, userAgent: null, address: "127.0.0.1" };
let stored: Map<string, Session>;
let forgotten: string[];
let warnings: unknown[];
/** Resolves between the read and the write of a refresh, to lose races on purpose. */
let beforeRotate: () => Promise<void>;
/** Happens between the reads of a session and its user. */
let whenUserIsRead: () => void;

beforeAll(async () => {
  const ring = await makeKeyRing(generateKeyPairSync("ed25519").privateKey);
  tokens = {
    access: makeAccessTokens(ring, "https://app.example.com", 900),
    refresh: makeRefreshTokens(randomBytes(32)),
  };
});

beforeEach(() => {
  time = START;
  active = true;
  isRootAdmin = false;
  epoch = FIRST_EPOCH;
  memory.events.length = 0;
  forgotten = [];
  warnings = [];
  beforeRotate = async () => {};
  whenUserIsRead = () => {};
  const now = new Date(START);
  const times = { rotatedAt: now, createdAt: now, lastUsedAt: now, expiresAt: new Date(START + DAY) };
  const rest = {
    origin: null,
    generation: 0,
    remember: false,
    provider: null,
    userAgent: null,
    address: null,
  };
  stored = new Map([
    [ID, { id: ID, userId: "64b000000000000000000001", epochs: [FIRST_EPOCH], ...times, ...rest }],
  ]);
});

const deps: RefreshDeps & LogOutDeps = {
  appUrl: APP_URL,
  sessions: {
    find: async (id) => stored.get(id),
    rotate: async (id, generation, next) => {
      await beforeRotate();
      const session = stored.get(id);
      if (session?.generation !== generation) return undefined;
      const times = { ...next, lastUsedAt: next.rotatedAt, supersededAt: new Date(time) };
      const rotated = { ...session, ...times, generation: generation + 1 };
      stored.set(id, rotated);
      return rotated;
    },
    remove: async (id) => {
      const session = stored.get(id);
      stored.delete(id);
      return session;
    },
  },
  users: {
    findActive: async () => {
      whenUserIsRead();
      return active ? { epoch, isRootAdmin } : undefined;
    },
  },
  rootOrigin: APP_URL,
  throttle: openThrottle,
  audit: memory.audit,
  sessionCache: { forgetSession: (id) => void forgotten.push(id) },
  get tokens() {
    return tokens;
  },
  clock: { now: () => new Date(time) },
};

const warn = (...line: unknown[]): void => void warnings.push(line);
const log = Object.assign(makeLogger("test", "silent"), { warn });

const token = (generation: number) => tokens.refresh.write({ sessionId: ID, generation });
const use = (generation: number) => refresh(deps, { refreshToken: token(generation) }, CLIENT, log);
const lend = (generation: number) => lendAccessToken(deps, token(generation), CLIENT, log);
const refused = expect.objectContaining({ code: "INVALID_TOKEN", status: 401 });
/** Makes it the session of a page. */
function madeFor(origin: string): void {
  const session = stored.get(ID);
  if (session !== undefined) stored.set(ID, { ...session, origin });
}

describe("refresh", () => {
  it("answers the next pair and slides the session", async () => {
    time += 3600 * SECOND;
    const pair = await use(0);
    expect(pair.refreshToken).toBe(token(1));
    expect(pair.refreshExpTime).toBe(time + DAY);
    expect(pair.expTime).toBe(Math.floor(time / SECOND) * SECOND + 900 * SECOND);
    expect(stored.get(ID)).toMatchObject({ generation: 1, lastUsedAt: new Date(time) });
  });

  it("says the same pair again for 30 seconds after a rotation that took long", async () => {
    beforeRotate = async () => {
      time += 40 * SECOND;
    };
    const pair = await use(0);
    time += 29 * SECOND;
    expect((await use(0)).refreshToken).toBe(pair.refreshToken);
    time += 2 * SECOND;
    await expect(use(0)).rejects.toEqual(refused);
  });

  it("says the same pair again for 30 seconds, whenever it is asked", async () => {
    const first = await use(0);
    time += 30 * SECOND;
    expect(await use(0)).toEqual(first);
    expect(stored.get(ID)?.generation).toBe(1);
    expect(warnings).toEqual([]);
  });

  it("gives 50 parallel callers one and the same pair", async () => {
    const pairs = await Promise.all(Array.from({ length: 50 }, () => use(0)));
    expect(new Set(pairs.map((pair) => JSON.stringify(pair))).size).toBe(1);
    expect(stored.get(ID)?.generation).toBe(1);
  });

  it("looks again when another instance rotated in between, and repeats its successor", async () => {
    let theirs: unknown;
    beforeRotate = async () => {
      beforeRotate = async () => {};
      theirs = await use(0);
    };
    expect(await use(0)).toEqual(theirs);
    expect(stored.get(ID)?.generation).toBe(1);
  });

  it("is refused when a log-out came in between", async () => {
    beforeRotate = async () => void stored.delete(ID);
    await expect(use(0)).rejects.toEqual(refused);
    expect(stored.size).toBe(0);
  });

  it.each([
    ["the previous token after the grace window", 1, 31 * SECOND],
    ["a token two generations old at once", 2, 0],
  ])("revokes the session for %s and says so in the log", async (_name, rotations, wait) => {
    for (let generation = 0; generation < rotations; generation += 1) await use(generation);
    time += wait;
    await expect(use(0)).rejects.toEqual(refused);
    await expect(use(rotations)).rejects.toEqual(refused);
    expect(stored.size).toBe(0);
    expect(forgotten).toEqual([ID]);
    expect(warnings).toEqual([
      [expect.objectContaining({ event: "refresh_token_reuse", sessionId: ID }), "security event"],
    ]);
  });

  describe.each([
    ["a refresh", (client: ClientFacts) => refresh(deps, { refreshToken: token(0) }, client, log)],
    ["a loan", (client: ClientFacts) => lendAccessToken(deps, token(0), client, log)],
  ])("%s whose caller has hung up", (_what, ask) => {
    const gone = { ...CLIENT, isWaiting: async () => false };
    const nothing = () => ask(gone).catch(() => undefined);

    it("gets nothing and moves nothing on", async () => {
      expect(await nothing()).toBeUndefined();
      expect(stored.get(ID)?.generation).toBe(0);
    });

    it("does not end the session for a token that was replaced meanwhile, and is in the log", async () => {
      await use(0);
      time += 31 * SECOND;
      expect(await nothing()).toBeUndefined();
      expect((await use(1)).refreshToken).toBe(token(2));
      expect([memory.events, forgotten]).toEqual([[], []]);
      const line = { event: "refresh_abandoned", sessionId: ID, generation: 0, rotation: "revoke" };
      expect(warnings).toEqual([[expect.objectContaining(line), expect.any(String)]]);
    });
  });

  it("tells of a replaced token also where the end of its session is not confirmed", async () => {
    const remove = async (id: string): Promise<never> => {
      stored.delete(id);
      throw new Error("not confirmed in time");
    };
    for (let generation = 0; generation < 2; generation += 1) await use(generation);
    const unsure = { ...deps, sessions: { ...deps.sessions, remove } };
    await expect(refresh(unsure, { refreshToken: token(0) }, CLIENT, log)).rejects.toThrow("not confirmed");
    expect(forgotten).toEqual([ID]);
    expect([warnings.length, memory.events]).toMatchObject([1, [{ event: "refresh.reuse" }]]);
  });

  it("is refused while the user is deactivated, and works again where that was taken back", async () => {
    active = false;
    await expect(use(0)).rejects.toEqual(refused);
    active = true;
    expect((await use(0)).refreshToken).toBe(token(1));
  });

  it("is refused where a provider opened the session on another origin and its user is root admin (A22)", async () => {
    const session = stored.get(ID);
    if (session === undefined) throw new Error("missing");
    stored.set(ID, { ...session, provider: "google", origin: "https://chat.example.com" });
    await use(0);
    isRootAdmin = true;
    await expect(use(1)).rejects.toEqual(refused);
  });

  it("is refused in another epoch of the user, and works again where that was taken back", async () => {
    epoch = "another";
    await expect(use(0)).rejects.toEqual(refused);
    epoch = FIRST_EPOCH;
    expect((await use(0)).refreshToken).toBe(token(1));
  });

  it("goes on with a session that has taken part in a new epoch since it was read", async () => {
    const session = stored.get(ID);
    if (session === undefined) throw new Error("no session");
    whenUserIsRead = () => {
      epoch = "another";
      stored.set(ID, { ...session, epochs: [FIRST_EPOCH, epoch] });
    };
    expect((await use(0)).refreshToken).toBe(token(1));
  });

  it("is refused for an expired session", async () => {
    time += DAY;
    await expect(use(0)).rejects.toEqual(refused);
  });

  it("never carries a session beyond 30 days", async () => {
    let generation = 0;
    for (; time < START + 29.5 * DAY; generation += 1) {
      await use(generation);
      time += 0.9 * DAY;
    }
    const last = await use(generation);
    expect(last.refreshExpTime).toBe(START + 30 * DAY);
    time = START + 30 * DAY + SECOND;
    await expect(use(generation + 1)).rejects.toEqual(refused);
  });

  it.each<[unknown, string[]]>([
    [undefined, ["refreshToken: is required"]],
    [{ refreshToken: { $ne: null } }, ["refreshToken: must be text"]],
    [{ refreshToken: "x", extra: 1 }, ["extra: unknown key; expected refreshToken"]],
  ])("names every violation: case %#", async (body, messages) => {
    await expect(refresh(deps, body, CLIENT, log)).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      messages,
    });
  });

  it("refuses what is not one of our tokens like a revoked one", async () => {
    await expect(refresh(deps, { refreshToken: "svc_pat_abc" }, CLIENT, log)).rejects.toEqual(refused);
  });
});

describe("lendAccessToken", () => {
  it("gives an access token of the session for its whole life, and leaves the session as it is", async () => {
    const before = stored.get(ID);
    time += 3600 * SECOND;
    const lent = (await lend(0)) ?? "";
    expect(stored.get(ID)).toBe(before);
    const claims = { userId: before?.userId, sessionId: ID, origin: null };
    expect(await tokens.access.verify(lent, new Date(time + 899 * SECOND))).toEqual(claims);
    time += 60 * SECOND;
    expect((await use(0)).refreshToken).toBe(token(1));
  });

  it("gives one for the previous token within the grace window, too", async () => {
    await use(0);
    time += 30 * SECOND;
    expect(await lend(0)).toEqual(expect.any(String));
    expect(stored.get(ID)?.generation).toBe(1);
  });

  it("revokes the session for a replaced token, as a refresh does", async () => {
    await use(0);
    time += 31 * SECOND;
    expect(await lend(0)).toBeUndefined();
    expect([stored.size, forgotten]).toEqual([0, [ID]]);
    expect(warnings).toEqual([
      [expect.objectContaining({ event: "refresh_token_reuse", sessionId: ID }), "security event"],
    ]);
    expect(memory.events).toMatchObject([{ event: "refresh.reuse", details: { generation: "0" } }]);
  });

  it("gives nothing for a session that is over, an inactive user, or what is no token of ours", async () => {
    expect(await lendAccessToken(deps, "svc_pat_abc", CLIENT, log)).toBeUndefined();
    time += DAY;
    expect(await lend(0)).toBeUndefined();
    time = START;
    active = false;
    expect(await lend(0)).toBeUndefined();
  });
});

describe("a session for an origin whose pages the gateway does not serve", () => {
  const GONE = "https://gone.example.com";
  const by = (pageOrigins: readonly string[]) => ({ ...CLIENT, pageOrigins });
  const useBy = (generation: number, pageOrigins: readonly string[]) =>
    refresh(deps, { refreshToken: token(generation) }, by(pageOrigins), log);

  it("is neither refreshed nor lent from, and stays as it is for a gateway that does", async () => {
    madeFor(GONE);
    await expect(useBy(0, [APP_URL])).rejects.toEqual(refused);
    expect(await lendAccessToken(deps, token(0), by([APP_URL]), log)).toBeUndefined();
    expect(stored.get(ID)?.generation).toBe(0);
    expect((await useBy(0, [APP_URL, GONE])).refreshToken).toBe(token(1));
  });

  it("ends all the same when a replaced token of it is used", async () => {
    madeFor(GONE);
    await use(0);
    time += 60_000;
    await expect(useBy(0, [APP_URL])).rejects.toEqual(refused);
    expect([stored.size, warnings.length]).toEqual([0, 1]);
  });

  it("is another matter than one that no browser made", async () => {
    expect((await useBy(0, [APP_URL])).refreshToken).toBe(token(1));
  });
});

describe("logOut", () => {
  const holder = {
    kind: "user",
    userId: "64b000000000000000000001",
    roleId: null,
    isRootAdmin: false,
    by: { kind: "session", id: ID, origin: null },
  } as const;

  it("ends the session of any generation of its token", async () => {
    await use(0);
    await logOut(deps, { refreshToken: token(0) }, ANONYMOUS, CLIENT);
    expect([stored.size, forgotten]).toEqual([0, [ID]]);
    await expect(use(1)).rejects.toEqual(refused);
  });

  it("ends the Bearer token's session without a body", async () => {
    await logOut(deps, undefined, holder, CLIENT);
    expect(stored.size).toBe(0);
  });

  it("tells of a session whose end is not confirmed, and keeps it in no cache", async () => {
    const remove = async (): Promise<never> => {
      throw maybeWritten(new Error("not confirmed in time"));
    };
    const unsure = { ...deps, sessions: { ...deps.sessions, remove } };
    const asked = logOut(unsure, { refreshToken: token(0) }, ANONYMOUS, CLIENT);
    await expect(asked).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    const details = { sessionId: ID, uncertain: "true" };
    expect([forgotten, memory.events]).toMatchObject([[ID], [{ event: "sign-out", details }]]);
  });

  it("may be repeated, and forgives a token that is not ours", async () => {
    await logOut(deps, { refreshToken: token(0) }, ANONYMOUS, CLIENT);
    await logOut(deps, { refreshToken: token(0) }, ANONYMOUS, CLIENT);
    await logOut(deps, { refreshToken: "nonsense" }, ANONYMOUS, CLIENT);
    expect(stored.size).toBe(0);
  });

  it("asked for by a page that the session was not made for leaves it as it is", async () => {
    const page = (origin: string) => ({ ...CLIENT, origin });
    const asked = logOut(deps, { refreshToken: token(0) }, ANONYMOUS, page("https://chat.example.com"));
    await expect(asked).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect([stored.size, forgotten]).toEqual([1, []]);
    await logOut(deps, { refreshToken: token(0) }, ANONYMOUS, page(APP_URL));
    expect(stored.size).toBe(0);
  });

  it("by a page that is served ends a session whose own page is not", async () => {
    madeFor("https://gone.example.com");
    const page = { ...CLIENT, origin: APP_URL };
    const asked = logOut(deps, { refreshToken: token(0) }, ANONYMOUS, page);
    await expect(asked).rejects.toMatchObject({ code: "FORBIDDEN" });
    await logOut(deps, { refreshToken: token(0) }, ANONYMOUS, { ...page, pageOrigins: [APP_URL] });
    expect(stored.size).toBe(0);
  });

  it("needs something to go by", async () => {
    const error = await logOut(deps, undefined, ANONYMOUS, CLIENT).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ messages: ["refreshToken: is required"] });
  });
});
