// An API token or a connected provider is not made once the session that asked for it has ended.
import { beforeEach, describe, expect, it } from "@jest/globals";
import { FIRST_EPOCH, type Session } from "./session.js";
import { makeSessionCache } from "./session-cache.js";
import { whileSignedIn } from "./while-signed-in.js";

const ANN = "64b000000000000000000001";
const maker = { userId: ANN, sessionId: "s1" };
const clock = { now: () => new Date() };

let epoch: string;
let stored: Map<string, Session>;
let made: string[];

beforeEach(() => {
  epoch = FIRST_EPOCH;
  made = [];
  const now = new Date();
  const times = {
    rotatedAt: now,
    createdAt: now,
    lastUsedAt: now,
    expiresAt: new Date(now.getTime() + 60_000),
  };
  const rest = {
    origin: null,
    generation: 0,
    remember: false,
    provider: null,
    userAgent: null,
    address: null,
  };
  stored = new Map([["s1", { id: "s1", userId: ANN, epochs: [FIRST_EPOCH], ...times, ...rest }]]);
});

const cache = () =>
  makeSessionCache({
    sessions: { find: async (id) => stored.get(id) },
    users: {
      findActive: async (id) => (id === ANN ? { roleId: null, isRootAdmin: false, epoch } : undefined),
    },
    rootOrigin: null,
    clock,
  });

/** Makes a thing, while `meanwhile` happens before it is there. */
const makeOne = (sessionCache = cache(), meanwhile = () => {}) =>
  whileSignedIn(
    { sessionCache },
    maker,
    async () => {
      meanwhile();
      made.push("thing");
      return "thing";
    },
    async (thing) => {
      made = made.filter((each) => each !== thing);
    },
  );

describe("what outlives its session", () => {
  it("is made while the session lives", async () => {
    expect([await makeOne(), made]).toEqual(["thing", ["thing"]]);
  });

  it("is not made once the session has ended, whatever the cache remembers", async () => {
    const sessionCache = cache();
    expect(await sessionCache.find("s1", ANN)).toBeDefined();
    stored.clear();
    const meanwhile = () => {
      throw new Error("too late");
    };
    expect(await makeOne(sessionCache, meanwhile)).toBeUndefined();
  });

  it.each([
    ["the account was taken over", "another", ["s1"]],
    ["the session was ended", FIRST_EPOCH, []],
  ])("is taken back when %s in the meantime", async (_name, newEpoch, left) => {
    const meanwhile = () => {
      epoch = newEpoch;
      stored = new Map([...stored].filter(([id]) => left.includes(id)));
    };
    expect([await makeOne(cache(), meanwhile), made]).toEqual([undefined, []]);
  });
});
