// Contract 8: what of the road through a provider stands in svc_audit.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ObjectId } from "mongodb";
import { type Api, asAdmin } from "../support/api.js";
import { become, newPeople } from "./support/providers.js";
import { isBridge, type OAuthSystem, signInOnApp, startOAuthSystem } from "./support/system.js";
import type { Traveller } from "./support/traveller.js";

let system: OAuthSystem;
let admin: Api;
let browser: Traveller;
let api: string;
let email: string;
let count = 0;
const password = "her own password";

beforeAll(async () => {
  system = await startOAuthSystem();
  api = `${system.stack.appUrl}/api`;
  admin = await asAdmin(system.stack);
});
afterAll(() => system?.stop());

beforeEach(() => {
  count += 1;
  email = `ann${count}@example.com`;
  become(system.providers, newPeople(`ann${count}`));
  browser = system.traveller();
});

const ownPage = () => ({ Origin: system.stack.appUrl, "Sec-Fetch-Site": "same-origin" });
const JSON_TYPE = { "Content-Type": "application/json" };

/** What was recorded while something was done, refusals by permission left out. */
async function recorded(act: () => Promise<unknown>): Promise<object[]> {
  const before = (await admin.get("/svc_audit", { fields: "id", limit: "0" })).body.data;
  await act();
  const known = new Set(before.map(({ id }: { id: string }) => id));
  const { data } = (await admin.get("/svc_audit", { sort: "createdAt", limit: "0" })).body;
  return data
    .filter(({ id }: { id: string }) => !known.has(id))
    .map(({ event, userId, details }: Record<string, unknown>) => ({ event, userId, details }));
}

/** As sign-up by the public leaves it. */
const markUnproven = (id: string) =>
  system.mongo
    .db()
    .collection("svc_user")
    .updateOne({ _id: new ObjectId(id) }, { $set: { emailUnproven: true } });

const userId = async (): Promise<string> =>
  (await admin.get("/svc_user", { filter: { email } })).body.data[0].id;

async function signedIn(): Promise<string> {
  await admin.post("/svc_user", { email, password });
  const body = JSON.stringify({ email, password });
  const { status } = await browser.go(`${api}/login`, { method: "POST", headers: JSON_TYPE, body });
  expect(status).toBe(200);
  return userId();
}

async function link(): Promise<string> {
  const answer = await browser.go(`${api}/auth/google/link`, {
    method: "POST",
    headers: { ...JSON_TYPE, ...ownPage() },
    body: JSON.stringify({ redirect: `${system.stack.appUrl}/settings` }),
  });
  return (await browser.travel(JSON.parse(answer.text).url)).end;
}

it("a first sign-in is recorded as one, and the user it made", async () => {
  const entries = await recorded(() => signInOnApp(browser, system.stack, "google"));
  const [details, id] = [{ provider: "google" }, await userId()];
  expect(entries).toEqual([
    { event: "user.created", userId: id, details },
    { event: "oauth.sign-in", userId: id, details },
  ]);
});

it("a sign-in that finds the user by e-mail is recorded as a link and a sign-in", async () => {
  const id = (await admin.post("/svc_user", { email })).body.data[0].id;
  const entries = await recorded(() => signInOnApp(browser, system.stack, "google"));
  const details = { provider: "google" };
  expect(entries).toEqual([
    { event: "oauth.link", userId: id, details },
    { event: "oauth.sign-in", userId: id, details },
  ]);
});

it("a sign-in that takes an account over is recorded as that", async () => {
  const id = (await admin.post("/svc_user", { email, password })).body.data[0].id;
  await markUnproven(id);
  const entries = await recorded(() => signInOnApp(browser, system.stack, "google"));
  const details = { provider: "google" };
  expect(entries).toEqual([
    {
      event: "oauth.link",
      userId: id,
      details: { ...details, ended: "password, providers, sessions, API tokens" },
    },
    { event: "oauth.sign-in", userId: id, details },
  ]);
});

it("connecting and disconnecting a provider are recorded as such", async () => {
  const id = await signedIn();
  const connected = await recorded(link);
  expect(connected).toEqual([{ event: "oauth.link", userId: id, details: { provider: "google" } }]);
  const { text } = await browser.go(`${api}/me/oauth-accounts`);
  const accountId: string = JSON.parse(text).data[0].id;
  const disconnected = await recorded(() =>
    browser.go(`${api}/me/oauth-accounts/${accountId}`, { method: "DELETE", headers: ownPage() }),
  );
  const details = { provider: "google", accountId, ended: "other sessions by this provider" };
  expect(disconnected).toEqual([{ event: "oauth.unlink", userId: id, details }]);
});

it("a refused sign-in is recorded with what it was refused for", async () => {
  await admin.post("/svc_user", { email, password });
  // Facebook's word on an address proves nothing.
  const entries = await recorded(() => signInOnApp(browser, system.stack, "facebook"));
  const details = { provider: "facebook", error: "email_in_use" };
  expect(entries).toEqual([{ event: "oauth.refused", userId: null, details }]);
});

describe("a sign-in of somebody who may not sign in is recorded as theirs", () => {
  const details = { provider: "google", error: "account_disabled" };
  const deactivate = async (id: string) =>
    expect((await admin.patch(`/svc_user/${id}`, { isActive: false })).status).toBe(200);

  it("where the provider signed them in before", async () => {
    await signInOnApp(system.traveller(), system.stack, "google");
    const id = await userId();
    await deactivate(id);
    const entries = await recorded(() => signInOnApp(browser, system.stack, "google"));
    expect(entries).toEqual([{ event: "oauth.refused", userId: id, details }]);
  });

  it("where the provider says that it is their address", async () => {
    const id = (await admin.post("/svc_user", { email, password })).body.data[0].id;
    await deactivate(id);
    const entries = await recorded(() => signInOnApp(browser, system.stack, "google"));
    expect(entries).toEqual([{ event: "oauth.refused", userId: id, details }]);
  });

  it("where they were deactivated on the way back", async () => {
    const id = (await admin.post("/svc_user", { email, password })).body.data[0].id;
    const { end } = await signInOnApp(browser, system.stack, "google", isBridge);
    await deactivate(id);
    const entries = await recorded(() => browser.travel(end));
    expect(entries).toEqual([{ event: "oauth.refused", userId: id, details }]);
  });
});

it("an account that is another's is recorded once a minute, however often it is to be connected", async () => {
  await signInOnApp(system.traveller(), system.stack, "google");
  email = `ben${count}@example.com`;
  const id = await signedIn();
  const entries = await recorded(async () => {
    await link();
    await link();
  });
  const details = { provider: "google", error: "account_in_use" };
  expect(entries).toEqual([{ event: "oauth.refused", userId: id, details }]);
});
