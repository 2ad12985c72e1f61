// Who counts as another root admin, and whose records get the turn.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Db, ObjectId } from "mongodb";
import type { Origins } from "../auth/session.js";
import { LEAVING_FIELD } from "../records/delete/leaving.js";
import { makeAdminStore } from "./admin-store.js";
import { openTestDatabase, type TestDatabase } from "./database-fixture.js";
import { accountCollection } from "./identity-collections.js";
import { type UserDocument, userCollection } from "./user-store.js";

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await openTestDatabase();
  db = database.db;
});

afterAll(() => database.close());

beforeEach(() => db.dropDatabase());

/** @returns the id of the new user */
async function add(parts: Partial<UserDocument> & { readonly [LEAVING_FIELD]?: unknown }): Promise<ObjectId> {
  const _id = new ObjectId();
  const at = new Date(0);
  const plain = { email: `${_id}@example.com`, isActive: true, isRootAdmin: false };
  await userCollection(db, "svc_").insertOne({ _id, ...plain, createdAt: at, updatedAt: at, ...parts });
  return _id;
}

const APP_URL = "http://localhost:3000";

/** Connects a provider to this user. @param connectedOn see auth/session */
const connect = (userId: ObjectId, connectedOn: Origins = []): Promise<unknown> =>
  accountCollection(db).insertOne({
    _id: new ObjectId(),
    provider: "google",
    subject: userId.toHexString(),
    userId,
    connectedOn,
    createdAt: new Date(0),
  });

const takeTurn = (id: ObjectId, turn = "ours"): Promise<boolean> =>
  makeAdminStore(db, "svc_", APP_URL).takeTurn(id.toHexString(), turn);

describe("a root admin who goes", () => {
  it.each([
    ["nobody, being no other", undefined],
    ["nobody in an ordinary user", { isRootAdmin: false }],
    ["nobody in a root admin who is switched off", { isRootAdmin: true, isActive: false }],
    [
      "nobody in a root admin whom a delete wants",
      { isRootAdmin: true, [LEAVING_FIELD]: { [new ObjectId().toHexString()]: true } },
    ],
  ])("leaves %s", async (_name, other) => {
    const id = await add({ isRootAdmin: true });
    if (other !== undefined) await add({ passwordHash: "hash", ...other });
    expect(await takeTurn(id)).toBe(false);
  });

  it("leaves nobody in a root admin who has neither password nor provider", async () => {
    const id = await add({ isRootAdmin: true });
    await add({ isRootAdmin: true });
    await connect(id);
    expect(await takeTurn(id)).toBe(false);
  });

  it("leaves another one who has a password", async () => {
    const id = await add({ isRootAdmin: true });
    await add({ isRootAdmin: true });
    await add({ isRootAdmin: true, passwordHash: "hash" });
    expect(await takeTurn(id)).toBe(true);
  });

  it("leaves another one whom a provider signs in", async () => {
    const id = await add({ isRootAdmin: true });
    await connect(await add({ isRootAdmin: true }));
    expect(await takeTurn(id)).toBe(true);
  });
});

it.each([
  ["leaves nobody", "on another origin, which signs no root admin in", ["https://chat.example.com"], false],
  ["leaves another one", "on the app's own origin", [APP_URL], true],
])(
  "a root admin who goes %s in one whose provider was connected %s",
  async (_what, _where, origins, left) => {
    const id = await add({ isRootAdmin: true });
    await connect(await add({ isRootAdmin: true }), origins);
    expect(await takeTurn(id)).toBe(left);
  },
);

it("an ordinary user who goes takes no root admin away, however few of them can sign in", async () => {
  await add({ isRootAdmin: true });
  expect(await takeTurn(await add({}))).toBe(true);
});

describe("the turn", () => {
  it("is put over that of others, into the user's record and those of all root admins", async () => {
    const meant = await add({ email: "meant", isActive: false });
    await add({ email: "active", isRootAdmin: true, _turn: "theirs" });
    await add({ email: "inactive", isRootAdmin: true, isActive: false });
    await add({ email: "ordinary", _turn: "theirs" });
    await takeTurn(meant);
    const users = await userCollection(db, "svc_").find().toArray();
    expect(Object.fromEntries(users.map(({ email, _turn }) => [email, _turn]))).toEqual({
      meant: "ours",
      active: "ours",
      inactive: "ours",
      ordinary: "theirs",
    });
  });
});
