// A request about a user that is refused half-way, while the owner of the address signs in by a provider: what the owner has
// proved by then is not taken back with it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { decodeJwt } from "jose";
import { make, makeTable, read } from "../contract/records/make.js";
import { type Answer, type Api, apiOf, asAdmin } from "../support/api.js";
import { type BehindProxy, startBehindProxy } from "../support/behind-proxy.js";
import { isCommand, isWriteOf, type Stopped, stopAt } from "../support/command-proxy.js";
import { become, newPeople } from "./support/providers.js";
import { type OAuthSystem, signInOnApp, startOAuthSystem } from "./support/system.js";

const STRANGER = "the stranger's password";

let system: OAuthSystem;
let held: BehindProxy;
let root: Api;
let slow: Api;
let count = 0;
/** The owner's address. */
let email: string;

beforeAll(async () => {
  system = await startOAuthSystem();
  held = await startBehindProxy(system.stack, system.providers.env);
  [root, slow] = [await asAdmin(system.stack), await asAdmin(held.stack)];
  const owner = { name: "owner", type: "many-to-one", table: "svc_user", inverse: "badges" };
  await makeTable(root, {
    name: "badges",
    columns: [{ name: "kind", type: "string" }],
    relations: [{ ...owner, onDelete: "CASCADE" }],
    uniques: [["owner", "kind"]],
  });
});
afterAll(async () => {
  await held?.stop();
  await system?.stop();
});

beforeEach(() => {
  held.proxy.decide(() => "pass");
  count += 1;
  email = `ann${count}@example.com`;
  become(system.providers, newPeople(`ann${count}`));
});

const users = () => held.db.collection("svc_user");
/** Anybody may have typed the address. */
const callUnproven = () => users().updateOne({ email }, { $set: { emailUnproven: true } });

/** Root's change of a user, standing still when the user is written and the badges are not: these can't belong to one user. */
async function change(id: string, members: Readonly<Record<string, unknown>>): Promise<Stopped<Answer>> {
  const badges = await Promise.all([1, 2].map(async () => (await make(root, "badges", { kind: "a" })).id));
  return stopAt(held.proxy, isWriteOf("badges"), () => slow.patch(`/svc_user/${id}`, { ...members, badges }));
}

/** A sign-up that stands still when the user is made, and the badges are not: these can't belong to one user. */
function signUp(): Promise<Stopped<Answer>> {
  const badges = [{ kind: "a" }, { kind: "a" }];
  return stopAt(held.proxy, isCommand("insert", "badges"), () =>
    slow.post("/svc_user", { email, password: STRANGER, badges }),
  );
}

/** Signs in the owner. @returns who that is, and their token */
async function ownerSignsIn(): Promise<{ readonly id: unknown; readonly token: string }> {
  const traveller = system.traveller();
  await signInOnApp(traveller, system.stack, "google");
  const token = traveller.cookies(system.stack.appUrl).get("accessToken") ?? "";
  return { id: decodeJwt(token).sub, token };
}

async function refused({ goOn, answer }: Stopped<Answer>): Promise<void> {
  goOn();
  expect((await answer).status).toBe(409);
}

describe("a change that is refused", () => {
  it("gives nobody the password back with which they had an account that its owner has taken over meanwhile", async () => {
    const { id } = await make(root, "svc_user", { email, password: STRANGER });
    await callUnproven();
    const going = await change(id, { password: "a password by root" });
    const owner = await ownerSignsIn();
    await refused(going);
    const signIn = await apiOf(system.stack.dataUrl).post("/auth/login", { email, password: STRANGER });
    expect([owner.id, signIn.status]).toEqual([id, 401]);
    const seenAnew = apiOf(held.stack.dataUrl, { Authorization: `Bearer ${owner.token}` });
    expect((await seenAnew.get("/me")).status).toBe(200);
  });

  it("leaves an address by which its owner was connected to the user meanwhile", async () => {
    const { id } = await make(root, "svc_user", { email: `former-${email}` });
    const going = await change(id, { email });
    const owner = await ownerSignsIn();
    await refused(going);
    expect([owner.id, (await read(root, "svc_user", id)).email]).toEqual([id, email]);
  });
});

describe("a sign-up that is refused", () => {
  it.each([
    ["taken over", callUnproven],
    ["been connected to", async () => undefined],
  ])("leaves the account that the owner of the address has %s meanwhile", async (_how, prepare) => {
    const going = await signUp();
    await prepare();
    const { id } = await ownerSignsIn();
    await refused(going);
    expect(await read(root, "svc_user", id)).toMatchObject({ email });
    expect((await ownerSignsIn()).id).toBe(id);
  });

  it("leaves nobody where nobody has signed in", async () => {
    await refused(await signUp());
    expect(await users().countDocuments({ email })).toBe(0);
  });
});
