// First sign-ins at the same moment, or that stand still meanwhile: one alone makes the user, and none leaves another behind.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { makeLogger } from "@portico/shared/logger";
import type { Db } from "mongodb";
import { openTestDatabase, type TestDatabase } from "../mongo/database-fixture.js";
import { type IdentityStore, makeIdentityStore } from "../mongo/identity-store.js";
import type { IdentityUsers } from "./accounts.js";
import { type FindUserDeps, findUser, type OnTheWay } from "./find-user.js";
import { ANN, emptyIdentities } from "./identity-fixture.js";

const BACK = { identity: ANN, origin: "http://localhost:3000" };
const BY_SIGN_IN = { origin: null, connectedOn: [] };
const CONNECTED = { email: "other@example.com", emailVerified: true, name: null, roleId: undefined };

let database: TestDatabase;
let db: Db;
let store: IdentityStore;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
  store = makeIdentityStore(db, "svc_");
});
afterAll(() => database?.close());
beforeEach(async () => {
  await emptyIdentities(database);
});

const depsWith = (identityUsers: IdentityUsers): FindUserDeps => ({
  accounts: store.accounts,
  identityUsers,
  forgetUser: () => undefined,
  clock: { now: () => new Date() },
  oauthSignup: true,
  oauthSignupRole: undefined,
  rootOrigin: null,
  logger: makeLogger("test", "silent"),
});

/** Connects Ann's account to another user right before the first sign-in makes its own. @returns the other one's id */
async function connectedMeanwhile(): Promise<{ readonly deps: FindUserDeps; readonly userId: string }> {
  const userId = store.identityUsers.newId();
  await store.identityUsers.insert({ ...CONNECTED, id: userId, createdAt: new Date() });
  const insert: IdentityUsers["insert"] = async (user) => {
    await store.accounts.link(ANN, userId, user.id, { createdAt: new Date(), ...BY_SIGN_IN });
    return store.identityUsers.insert(user);
  };
  return { deps: depsWith({ ...store.identityUsers, insert }), userId };
}

/** Nobody is taken over here. */
const NOBODY: OnTheWay = {
  tookOver: (userId) => Promise.reject(new Error(`${userId} was taken over`)),
  linking: () => {},
};

const addresses = async (): Promise<unknown[]> =>
  (await db.collection("svc_user").find().toArray()).map(({ email }) => email);

describe("a first sign-in that stands still until its account is connected to another user", () => {
  it("signs in as that one, and leaves no user behind", async () => {
    const { deps, userId } = await connectedMeanwhile();
    expect(await findUser(deps, BACK, NOBODY)).toEqual({ kind: "user", userId, how: "use", connectedOn: [] });
    expect(await addresses()).toEqual([CONNECTED.email]);
  });

  it("leaves a user whom another provider signs in by then", async () => {
    const { deps, userId } = await connectedMeanwhile();
    const insert: IdentityUsers["insert"] = async (user) => {
      const made = await deps.identityUsers.insert(user);
      const by = { createdAt: new Date(), ...BY_SIGN_IN };
      await store.accounts.link({ ...ANN, provider: "github" }, user.id, undefined, by);
      return made;
    };
    const found = await findUser(depsWith({ ...store.identityUsers, insert }), BACK, NOBODY);
    expect(found).toEqual({ kind: "user", userId, how: "use", connectedOn: [] });
    expect((await addresses()).toSorted()).toEqual([ANN.email, CONNECTED.email]);
  });
});

describe("a user is made by one sign-in alone", () => {
  const deps = (): FindUserDeps => depsWith(store.identityUsers);
  const ROLE = "65a00000000000000000000f";

  it("of two that make it at once", async () => {
    const others: unknown[] = [];
    const insert: IdentityUsers["insert"] = async (user) => {
      others.push(await findUser(deps(), BACK, NOBODY));
      return store.identityUsers.insert(user);
    };
    const found = await findUser(depsWith({ ...store.identityUsers, insert }), BACK, NOBODY);
    expect([...others, found]).toMatchObject([{ how: "create" }, { how: "use" }]);
    expect(await addresses()).toEqual([ANN.email]);
  });

  it("by the next one where the first could not note that the user is there", async () => {
    const confirm = () => Promise.reject(new Error("the database is away"));
    const identityUsers = { ...store.identityUsers, findRole: async () => ROLE };
    const first = { ...depsWith(identityUsers), oauthSignupRole: "Member" };
    const broken = { ...first, accounts: { ...store.accounts, confirm } };
    await expect(findUser(broken, BACK, NOBODY)).rejects.toThrow("away");
    expect(await addresses()).toEqual([ANN.email]);
    expect(await findUser(deps(), BACK, NOBODY)).toMatchObject({ how: "create", roleId: ROLE });
    expect(await findUser(deps(), BACK, NOBODY)).toMatchObject({ how: "use" });
  });
});
