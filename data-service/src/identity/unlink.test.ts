// The last way to sign in stays, also where a request that takes one away stands still for longer than others wait for it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { Provider } from "@portico/shared/oauth";
import { MongoNetworkError } from "mongodb";
import { memoryAudit } from "../auth/auth-fixture.js";
import type { Origins } from "../auth/session.js";
import { makeAdminStore } from "../mongo/admin-store.js";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { type IdentityStore, makeIdentityStore } from "../mongo/identity-store.js";
import { makeSessionStore } from "../mongo/session-store.js";
import { userCollection } from "../mongo/user-store.js";
import { type UnlinkDeps, unlink } from "./unlink.js";

const APP_URL = "http://localhost:3000";
const CHAT = "https://chat.example.com";
const USER = "1".repeat(24);
/** Her session. */
const ANNS = { userId: USER, by: { kind: "session", id: "s", origin: null } } as const;
const NOBODY = { origin: null, userAgent: null, address: null };
const LONG_MS = 11_000;
const ANN = { id: USER, email: "ann@example.com", emailVerified: true, name: null, roleId: undefined };

let database: TestDatabase;
let store: IdentityStore;
let now: Date;

beforeAll(async () => {
  database = await openTestDatabase();
  store = makeIdentityStore(database.db, "svc_");
});
afterAll(() => database?.close());
beforeEach(async () => {
  now = new Date();
  await database.db.dropDatabase();
});

const admins = () => makeAdminStore(database.db, "svc_", APP_URL);
const depsWith = (accounts: UnlinkDeps["accounts"]): UnlinkDeps => ({
  ...store,
  accounts,
  rootOrigin: APP_URL,
  sessions: makeSessionStore(database.db),
  forgetUser: () => undefined,
  clock: { now: () => now },
  audit: memoryAudit().audit,
  adminLock: (task) => task("ours"),
  putTurn: admins().putTurn,
});

async function connected(...providers: Provider[]): Promise<string[]> {
  for (const provider of providers) await connect(provider, []);
  return (await store.accounts.listOf(USER)).map(({ id }) => id);
}

async function connect(provider: Provider, connectedOn: Origins): Promise<void> {
  const identity = { provider, subject: "s", email: null, emailVerified: false, name: null };
  await store.accounts.link(identity, USER, undefined, { createdAt: now, origin: null, connectedOn });
}

/** Of a request that stands still before it removes its account, for so long that another one removes this account. */
function standingStillUntilGone(other: string): UnlinkDeps {
  let isHeld = true;
  const remove: UnlinkDeps["accounts"]["remove"] = async (...given) => {
    if (isHeld) {
      isHeld = false;
      now = new Date(now.getTime() + LONG_MS);
      await unlink(depsWith(store.accounts), ANNS, other, NOBODY);
    }
    return store.accounts.remove(...given);
  };
  return depsWith({ ...store.accounts, remove });
}

it("of two that go one stays, where the first was counted as dead and goes on", async () => {
  const [first = "", second = ""] = await connected("google", "github");
  const slow = unlink(standingStillUntilGone(second), ANNS, first, NOBODY);
  await expect(slow).rejects.toMatchObject({ code: "CONFLICT" });
  expect((await store.accounts.listOf(USER)).map(({ id }) => id)).toEqual([first]);
});

it("what was counted as dead goes all the same where another one stays", async () => {
  const [first = "", second = "", third = ""] = await connected("google", "github", "facebook");
  await unlink(standingStillUntilGone(second), ANNS, first, NOBODY);
  expect((await store.accounts.listOf(USER)).map(({ id }) => id)).toEqual([third]);
});

it("is still there to be disconnected where its sessions could not be ended", async () => {
  const [first = ""] = await connected("google", "github");
  const deps = depsWith(store.accounts);
  const away = async (): Promise<never> => {
    throw new Error("the database is away");
  };
  const broken = unlink({ ...deps, sessions: { removeOfProvider: away } }, ANNS, first, NOBODY);
  await expect(broken).rejects.toThrow("the database is away");
  await unlink(deps, ANNS, first, NOBODY);
  expect(await store.accounts.listOf(USER)).toMatchObject([{ provider: "github" }]);
});

it("ends the sessions that it has opened meanwhile where the database does not say whether it is gone", async () => {
  const [first = ""] = await connected("google", "github");
  const { audit, events } = memoryAudit();
  const ended: Provider[] = [];
  const remove: UnlinkDeps["accounts"]["remove"] = async (...given) => {
    await store.accounts.remove(...given);
    ended.length = 0;
    throw new MongoNetworkError("the answer was lost");
  };
  const removeOfProvider = async (_user: string, provider: Provider) => void ended.push(provider);
  const deps = { ...depsWith({ ...store.accounts, remove }), audit, sessions: { removeOfProvider } };
  await expect(unlink(deps, ANNS, first, NOBODY)).rejects.toMatchObject({ details: { uncertain: true } });
  expect(ended).toEqual(["google"]);
  expect(events).toMatchObject([{ event: "oauth.unlink", details: { uncertain: "true" } }]);
});

it("of a root admin goes only while no password of root admins is taken away", async () => {
  await store.identityUsers.insert({ ...ANN, createdAt: now });
  const [first = "", second = ""] = await connected("google", "github");
  const held = async (): Promise<never> => {
    throw new Error("another one holds the lock");
  };
  const deps = { ...depsWith(store.accounts), adminLock: held };
  await unlink(deps, ANNS, first, NOBODY);
  await userCollection(database.db, "svc_").updateOne({}, { $set: { isRootAdmin: true } });
  await expect(unlink(deps, ANNS, second, NOBODY)).rejects.toThrow("holds the lock");
  expect((await store.accounts.listOf(USER)).map(({ id }) => id)).toEqual([second]);
});

it("of a root admin stays where all others were connected on another origin", async () => {
  await store.identityUsers.insert({ ...ANN, createdAt: now });
  await userCollection(database.db, "svc_").updateOne({}, { $set: { isRootAdmin: true } });
  await connect("github", [CHAT]);
  const [elsewhere = "", own = ""] = await connected("google");
  const refused = unlink(depsWith(store.accounts), ANNS, own, NOBODY);
  await expect(refused).rejects.toMatchObject({ code: "CONFLICT" });
  await unlink(depsWith(store.accounts), ANNS, elsewhere, NOBODY);
  expect((await store.accounts.listOf(USER)).map(({ id }) => id)).toEqual([own]);
});

describe("the last provider of a root admin, whose password somebody takes away meanwhile,", () => {
  const users = () => userCollection(database.db, "svc_");
  beforeEach(async () => {
    await store.identityUsers.insert({ ...ANN, createdAt: now });
    await users().updateOne({}, { $set: { isRootAdmin: true, passwordHash: "hash" } });
  });

  it("stays where they count it while its own request stands still", async () => {
    const [account = ""] = await connected("google");
    let isHeld = true;
    const remove: UnlinkDeps["accounts"]["remove"] = async (...given) => {
      if (isHeld) {
        isHeld = false;
        expect([await admins().takeTurn(USER, "theirs"), await admins().hasProvider(USER)]).toEqual([
          false,
          true,
        ]);
        await users().updateOne({ _turn: "theirs" }, { $unset: { passwordHash: "" } });
      }
      return store.accounts.remove(...given);
    };
    const slow = unlink(depsWith({ ...store.accounts, remove }), ANNS, account, NOBODY);
    await expect(slow).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await store.accounts.listOf(USER)).toHaveLength(1);
  });

  it("goes where theirs has counted it and stands still, and the password stays", async () => {
    const [account = ""] = await connected("google");
    expect([await admins().takeTurn(USER, "theirs"), await admins().hasProvider(USER)]).toEqual([
      false,
      true,
    ]);
    await unlink(depsWith(store.accounts), ANNS, account, NOBODY);
    const late = await users().updateOne({ _turn: "theirs" }, { $unset: { passwordHash: "" } });
    expect([late.matchedCount, await store.accounts.listOf(USER)]).toEqual([0, []]);
  });
});
