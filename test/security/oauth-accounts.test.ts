// Security rows B1 to B5: which account a sign-in opens, and who may connect what to whom. Contract 3.2: oauth-accounts.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { decodeJwt } from "jose";
import { ObjectId } from "mongodb";
import { become, newPeople, type ProviderName } from "../oauth/support/providers.js";
import {
  CHAT,
  isBridge,
  isCallback,
  type OAuthSystem,
  signInOnApp,
  signInOnChat,
  startOAuthSystem,
  startUrl,
} from "../oauth/support/system.js";
import type { Step, Traveller } from "../oauth/support/traveller.js";
import { type Api, apiOf, asAdmin, signIn } from "../support/api.js";

let system: OAuthSystem;
let api: string;
let admin: Api;
let browser: Traveller;
let email: string;
let userId: string;
let count = 0;
const password = "her own password";

beforeAll(async () => {
  system = await startOAuthSystem();
  api = `${system.stack.appUrl}/api`;
  admin = await asAdmin(system.stack);
});
afterAll(() => system?.stop());

beforeEach(async () => {
  count += 1;
  email = `ann${count}@example.com`;
  become(system.providers, newPeople(`ann${count}`));
  browser = system.traveller();
  userId = (await admin.post("/svc_user", { email, password })).body.data[0].id;
});

const users = () => system.mongo.db().collection("svc_user");
const ownPage = () => ({ Origin: system.stack.appUrl, "Sec-Fetch-Site": "same-origin" });
const json = ({ text }: Step) => JSON.parse(text);
const appToken = (traveller: Traveller) => traveller.cookies(system.stack.appUrl).get("accessToken") ?? "";

async function logIn(traveller = browser): Promise<Traveller> {
  const answer = await traveller.go(`${api}/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  expect(answer.status).toBe(200);
  return traveller;
}

const startLink = (
  traveller: Traveller,
  provider: ProviderName,
  body: object = { redirect: `${system.stack.appUrl}/settings` },
  headers: Record<string, string> = ownPage(),
): Promise<Step> =>
  traveller.go(`${api}/auth/${provider}/link`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

const linked = async (traveller = browser): Promise<{ id: string; provider: string; email: string }[]> =>
  json(await traveller.go(`${api}/me/oauth-accounts`)).data;

/** As sign-up by the public leaves it. */
const markUnproven = () =>
  users().updateOne({ _id: new ObjectId(userId) }, { $set: { emailUnproven: true } });

const providersOf = (id: string): Promise<number> =>
  system.mongo
    .db()
    .collection("_oauth_accounts")
    .countDocuments({ userId: new ObjectId(id) });

const isUnproven = async (): Promise<boolean> =>
  (await users().findOne({ _id: new ObjectId(userId) }))?.emailUnproven === true;

/** Ends all sessions of a user but the one that asks. */
async function endOthers(user: Api): Promise<void> {
  const sessions: { id: string; current: boolean }[] = (await user.get("/me/sessions")).body.data;
  const others = sessions.filter(({ current }) => !current);
  expect(others.length).toBeGreaterThan(0);
  for (const { id } of others) expect((await user.delete(`/me/sessions/${id}`)).status).toBe(200);
}

describe("B1 an account whose address was never proved", () => {
  it("goes to the one who proves it: the old password, sessions, providers and API tokens are worth nothing", async () => {
    const attacker = await logIn(system.traveller());
    const made = await (await signIn(api, { email, password })).post("/auth/api-tokens", {
      name: "ci",
      expiresAt: "never",
    });
    const token = apiOf(api, { Authorization: `Bearer ${made.body.data[0].token}` });
    const { url } = json(await startLink(attacker, "facebook"));
    expect((await attacker.travel(url)).end).toBe(`${system.stack.appUrl}/settings`);
    await markUnproven();
    const attackers = system.providers.profiles.facebook;

    become(system.providers, newPeople(`ann${count}`));
    // The service has just looked at it, and remembers.
    expect((await token.get("/me")).status).toBe(200);
    await signInOnApp(browser, system.stack, "google");
    expect((await token.get("/me")).status).toBe(401);
    expect(decodeJwt(appToken(browser)).sub).toBe(userId);

    const login = await apiOf(api).post("/auth/login", { email, password });
    expect([login.status, login.body.error.code]).toEqual([401, "INVALID_CREDENTIALS"]);
    const bearer = { Authorization: `Bearer ${appToken(attacker)}` };
    expect((await apiOf(api, bearer).get("/me")).status).toBe(401);
    expect((await linked()).map(({ provider }) => provider)).toEqual(["google"]);
    system.providers.profiles.facebook = attackers;
    const again = await signInOnApp(system.traveller(), system.stack, "facebook");
    expect(again.end).toBe(`${system.stack.appUrl}/after?error=email_in_use`);
  });

  it.each([
    ["at the provider", isCallback],
    ["back from there", isBridge],
  ])("is closed to a provider that somebody was connecting before, who was %s", async (_name, stopBefore) => {
    const [attackers, owners] = [newPeople(`attacker${count}`), newPeople(`ann${count}`)];
    become(system.providers, attackers);
    const attacker = await logIn(system.traveller());
    const { url } = json(await startLink(attacker, "github"));
    const { end } = await attacker.travel(url, stopBefore);
    await markUnproven();

    become(system.providers, owners);
    await signInOnApp(browser, system.stack, "google");
    become(system.providers, attackers);
    expect((await attacker.travel(end)).last.status).toBe(400);
    expect((await linked()).map(({ provider }) => provider)).toEqual(["google"]);
  });

  it.each<[ProviderName, string, boolean, string]>([
    ["github", "with the same address, verified", true, ""],
    ["github", "with another address", false, "other-"],
    ["facebook", "that has not verified it", false, ""],
  ])("is proved by connecting %s %s: %p", async (provider, _name, isProved, before) => {
    become(system.providers, newPeople(`ann${count}`, `${before}${email}`));
    await markUnproven();
    await logIn();
    await browser.travel(json(await startLink(browser, provider)).url);
    expect(await linked()).toHaveLength(1);
    expect(await isUnproven()).toBe(!isProved);
  });

  it.each<[ProviderName, string, boolean, string]>([
    ["google", "with the same address, verified", true, ""],
    ["google", "with another address", false, "other-"],
    ["facebook", "that has not verified it", false, ""],
  ])("is proved by signing in through the connected %s %s: %p", async (provider, _name, isProved, before) => {
    become(system.providers, newPeople(`ann${count}`, `${before}${email}`));
    await logIn();
    await browser.travel(json(await startLink(browser, provider)).url);
    await markUnproven();
    const later = system.traveller();
    await signInOnApp(later, system.stack, provider);
    expect(decodeJwt(appToken(later)).sub).toBe(userId);
    expect(await isUnproven()).toBe(!isProved);
  });

  it("keeps its password and connections when its user, who has proved it, signs in by another provider", async () => {
    await markUnproven();
    await logIn();
    await browser.travel(json(await startLink(browser, "github")).url);
    await signInOnApp(system.traveller(), system.stack, "google");
    expect((await linked()).map(({ provider }) => provider)).toEqual(["github", "google"]);
    await logIn(system.traveller());
  });

  it("is not proved by the victim who finishes at the provider what the attacker began", async () => {
    await markUnproven();
    const attacker = system.traveller();
    const page = { "Content-Type": "application/json", Origin: CHAT };
    const login = { method: "POST", headers: page, body: JSON.stringify({ email, password }) };
    expect((await attacker.go(`${CHAT}/portal/login`, login)).status).toBe(200);
    const begun = await attacker.go(`${CHAT}/portal/auth/github/link`, {
      method: "POST",
      headers: page,
      body: JSON.stringify({ redirect: `${CHAT}/settings`, cookieBridgePrefix: "/portal" }),
    });
    expect((await browser.travel(json(begun).url)).last.status).toBe(400);
    expect(await isUnproven()).toBe(true);
    await signInOnApp(browser, system.stack, "google");
    expect((await attacker.go(`${CHAT}/portal/login`, login)).status).toBe(401);
  });

  it("is what a provider makes that has not verified it, and its owner gets it back", async () => {
    const victim = `victim${count}@example.com`;
    become(system.providers, newPeople("attacker", victim));
    const attacker = system.traveller();
    await signInOnApp(attacker, system.stack, "facebook");
    const made = decodeJwt(appToken(attacker)).sub;

    become(system.providers, newPeople("victim", victim));
    await signInOnApp(browser, system.stack, "google");
    expect(decodeJwt(appToken(browser)).sub).toBe(made);
    expect((await linked()).map(({ provider }) => provider)).toEqual(["google"]);
    const bearer = { Authorization: `Bearer ${appToken(attacker)}` };
    expect((await apiOf(api, bearer).get("/me")).status).toBe(401);
    const user = await users().findOne({ email: victim });
    expect(user).not.toHaveProperty("emailUnproven");
  });
});

describe("a sign-in that comes to nothing", () => {
  const nothing = async (): Promise<unknown[]> => [await isUnproven(), await providersOf(userId)];
  beforeEach(markUnproven);

  it.each<[string, () => Promise<string>]>([
    ["stops at the bridge", async () => (await signInOnApp(browser, system.stack, "google", isBridge)).end],
    [
      "was begun on the app by a page of another origin",
      async () => (await browser.travel(startUrl(api, "google", `${CHAT}/after`, "/portal"))).end,
    ],
  ])("B1 because it %s, takes nothing from the account", async (_name, go) => {
    const user = await signIn(system.stack.dataUrl, { email, password });
    expect(await go()).toContain("/auth/set-cookies?code=");
    expect(await nothing()).toEqual([true, 0]);
    expect((await user.get("/me")).status).toBe(200);
    await logIn(system.traveller());
  });

  it("A22 because it is a root admin's elsewhere, takes nothing from the account", async () => {
    const user = await signIn(system.stack.dataUrl, { email, password });
    await admin.patch(`/svc_user/${userId}`, { isRootAdmin: true });
    const { end } = await signInOnChat(browser, "google", "/portal");
    expect(end).toBe(`${CHAT}/after?error=root_admin_elsewhere`);
    expect(await nothing()).toEqual([true, 0]);
    expect((await user.get("/me")).status).toBe(200);
    await admin.patch(`/svc_user/${userId}`, { isRootAdmin: false });
  });

  it("makes no user", async () => {
    become(system.providers, newPeople(`never${count}`));
    await signInOnApp(browser, system.stack, "google", isBridge);
    expect(await users().countDocuments({ email: `never${count}@example.com` })).toBe(0);
  });
});

describe("B4 connecting a provider", () => {
  it("asks a signed-in user's page for the address to go to, and ends with the provider connected", async () => {
    await logIn();
    const answer = await startLink(browser, "github");
    expect([answer.status, Object.keys(json(answer))]).toEqual([200, ["statusCode", "message", "url"]]);
    const before = appToken(browser);
    const { end } = await browser.travel(json(answer).url);
    expect(end).toBe(`${system.stack.appUrl}/settings`);
    expect(appToken(browser)).toBe(before);
    expect(await linked()).toEqual([
      { id: expect.any(String), provider: "github", email, origin: null, createdAt: expect.any(String) },
    ]);
    const other = system.traveller();
    await signInOnApp(other, system.stack, "github");
    expect(decodeJwt(appToken(other)).sub).toBe(userId);
  });

  it("connects through the bridge, too, where the user is signed in there", async () => {
    await signInOnChat(browser, "google");
    const answer = await browser.go(`${CHAT}/portal/auth/facebook/link`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: CHAT },
      body: JSON.stringify({ redirect: `${CHAT}/settings`, cookieBridgePrefix: "/portal" }),
    });
    expect((await browser.travel(json(answer).url)).end).toBe(`${CHAT}/settings`);
    const { data } = json(await browser.go(`${CHAT}/portal/me/oauth-accounts`));
    expect(data.map(({ provider }: { provider: string }) => provider)).toEqual(["google", "facebook"]);
  });

  it.each([
    ["a foreign page", { Origin: "https://evil.com", "Sec-Fetch-Site": "cross-site" }],
    ["a sibling site", { "Sec-Fetch-Site": "same-site" }],
    ["the null origin", { Origin: "null" }],
    ["an allowed origin whose session it is not", { Origin: CHAT }],
  ])("from %s is 403, and begins nothing", async (_name, headers) => {
    await logIn();
    const flows = system.mongo.db().collection("_oauth_flows");
    const before = await flows.countDocuments();
    const answer = await startLink(browser, "github", undefined, headers);
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
    expect(await flows.countDocuments()).toBe(before);
  });

  it.each([
    ["no token", () => ""],
    ["a token without a scheme", (token: string) => token],
    ["a token that is none", () => "Bearer none of ours"],
    ["a token longer than any", () => `Bearer ${"a".repeat(20_000)}`],
  ])("with %s in the Authorization header is 401, as everywhere", async (_name, header) => {
    const authorization = header(appToken(await logIn()));
    const answer = await startLink(system.traveller(), "github", undefined, { Authorization: authorization });
    expect([answer.status, json(answer).error.code, answer.headers.get("www-authenticate")]).toEqual([
      401,
      "INVALID_TOKEN",
      'Bearer error="invalid_token"',
    ]);
  });

  it("by a form is 415, by GET 405", async () => {
    await logIn();
    const form = { ...ownPage(), "Content-Type": "application/x-www-form-urlencoded" };
    expect((await startLink(browser, "github", {}, form)).status).toBe(415);
    expect((await browser.go(`${api}/auth/github/link`)).status).toBe(405);
  });

  it("renews an access cookie that looks fresh and is believed no more, as every other request does", async () => {
    await logIn();
    const jar = browser.cookies(system.stack.appUrl);
    const [head = "", claims = ""] = appToken(browser).split(".");
    jar.set("accessToken", `${head}.${claims}.${"A".repeat(86)}`);
    const answer = await startLink(browser, "github");
    expect([answer.status, Object.keys(json(answer))]).toEqual([200, ["statusCode", "message", "url"]]);
    const { end } = await browser.travel(json(answer).url);
    expect([end, (await linked()).length]).toEqual([`${system.stack.appUrl}/settings`, 1]);
  });

  it("clears cookies that no session is behind any more", async () => {
    await logIn();
    await endOthers(await signIn(api, { email, password }));
    const flows = system.mongo.db().collection("_oauth_flows");
    const before = await flows.countDocuments();
    const answer = await startLink(browser, "github");
    expect(answer.status).toBe(401);
    expect(answer.headers.getSetCookie().map((cookie) => cookie.split(";")[0])).toEqual([
      "accessToken=",
      "refreshToken=",
      "expTime=",
    ]);
    expect(await flows.countDocuments()).toBe(before);
  });

  it("without a sign-in is 401", async () => {
    const answer = await startLink(browser, "github");
    expect([answer.status, json(answer).error.code, answer.headers.get("www-authenticate")]).toEqual([
      401,
      "UNAUTHORIZED",
      "Bearer",
    ]);
    const bad = await startLink(browser, "github", undefined, { Authorization: "Bearer nonsense" });
    expect([bad.status, json(bad).error.code]).toEqual([401, "INVALID_TOKEN"]);
  });

  it.each([
    ["nobody", {}, "UNAUTHORIZED"],
    ["a token that is none", { Authorization: "Bearer x" }, "INVALID_TOKEN"],
    ["an API token that is none", { Authorization: "Bearer svc_pat_x" }, "INVALID_TOKEN"],
    ["a header of another kind", { Authorization: "Basic x" }, "INVALID_TOKEN"],
  ])("by %s is 401 whatever the body", async (_name, headers, code) => {
    for (const body of ["{}", "null", "{", "", JSON.stringify({ redirect: "https://evil.com/" })]) {
      const answer = await system.traveller().go(`${api}/auth/github/link`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body,
      });
      expect([body, answer.status, json(answer).error.code]).toEqual([body, 401, code]);
    }
  });

  it("by cookies that are believed no more is 401 and clears them, whatever the body", async () => {
    await logIn();
    const { refreshToken } = Object.fromEntries(browser.cookies(system.stack.appUrl));
    await apiOf(api).post("/auth/logout", { refreshToken });
    const answer = await startLink(browser, "github", {});
    expect([answer.status, [...browser.cookies(system.stack.appUrl).keys()]]).toEqual([401, []]);
  });

  it("with an API token is 403 whatever the body, as all that concerns the account itself, and 401 with one that is revoked", async () => {
    const ann = await signIn(api, { email, password });
    const made = await ann.post("/auth/api-tokens", { name: "ci", expiresAt: "never" });
    const { id, token } = made.body.data[0];
    const flows = system.mongo.db().collection("_oauth_flows");
    const before = await flows.countDocuments();
    const bearer = { Authorization: `Bearer ${token}` };
    for (const body of [undefined, {}, { redirect: "https://evil.com/" }]) {
      const refused = await startLink(browser, "github", body, bearer);
      expect([refused.status, json(refused).message]).toEqual([
        403,
        "An API token can't be used here; sign in instead.",
      ]);
    }
    expect((await ann.delete(`/auth/api-tokens/${id}`)).status).toBe(200);
    const revoked = await startLink(browser, "github", undefined, bearer);
    expect([revoked.status, json(revoked).error.code]).toEqual([401, "INVALID_TOKEN"]);
    expect(await flows.countDocuments()).toBe(before);
  });

  it("with a sign-in older than 15 minutes is 403, which says what to do", async () => {
    await logIn();
    const { sid } = decodeJwt<{ sid: string }>(appToken(browser));
    await system.mongo
      .db()
      .collection<{ _id: string }>("_sessions")
      .updateOne({ _id: sid }, { $set: { createdAt: new Date(Date.now() - 15 * 60_000 - 1) } });
    const answer = await startLink(browser, "github");
    expect([answer.status, json(answer).error.details]).toEqual([403, { reason: "sign_in_too_old" }]);
    expect(json(answer).message).toContain("sign in again");
  });

  it("returns to the origin of its session, whose cookie has to come along", async () => {
    await logIn();
    const answer = await startLink(browser, "google", { redirect: `${CHAT}/settings` });
    expect([answer.status, json(answer).message]).toEqual([
      400,
      [`redirect: must be on ${system.stack.appUrl}, where this session was begun`],
    ]);
  });

  it("needs a redirect by the same rules as a sign-in, and names every violation of its body", async () => {
    await logIn();
    const evil = await startLink(browser, "github", { redirect: "https://evil.com/" });
    expect([evil.status, json(evil).message]).toEqual([
      400,
      expect.stringContaining("redirect: https://evil.com is not allowed; expected "),
    ]);
    const wrong = await startLink(browser, "github", { redirekt: "x", cookieBridgePrefix: 1 });
    expect([wrong.status, json(wrong).message]).toEqual([
      400,
      [
        "redirekt: unknown key; expected redirect, cookieBridgePrefix",
        "cookieBridgePrefix: must be text",
        "redirect: is required",
      ],
    ]);
  });

  it("begun by an attacker and finished by a victim connects nothing", async () => {
    await logIn();
    await signInOnChat(browser, "google");
    const attackers = await browser.go(`${CHAT}/portal/auth/github/link`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: CHAT },
      body: JSON.stringify({ redirect: `${CHAT}/settings`, cookieBridgePrefix: "/portal" }),
    });
    const victim = system.traveller();
    become(system.providers, newPeople(`victim${count}`));
    const { last } = await victim.travel(json(attackers).url);
    expect([last.status, isBridge(last.url)]).toEqual([400, true]);
    const accounts = json(await browser.go(`${CHAT}/portal/me/oauth-accounts`)).data;
    expect(accounts.map(({ provider }: { provider: string }) => provider)).toEqual(["google"]);
    const own = await logIn(system.traveller());
    const { url } = json(await startLink(own, "github"));
    const { end, last: callback } = await victim.travel(url);
    expect([callback.status, isCallback(end)]).toEqual([400, true]);
  });

  it.each<[string, (owner: Api) => Promise<unknown>]>([
    ["a log-out", () => browser.go(`${api}/logout`, { method: "POST", headers: ownPage() })],
    ["its end from another session", endOthers],
    [
      "a password change",
      (owner) => owner.patch("/me", { password: "new password", currentPassword: password }),
    ],
    ["a password set by root", () => admin.patch(`/svc_user/${userId}`, { password: "set by root" })],
  ])("is over with the session that began it: after %s", async (_name, end) => {
    const owner = await signIn(api, { email, password });
    await logIn();
    const waiting: string[] = [];
    for (const [provider, stopBefore] of [
      ["github", isCallback],
      ["facebook", isBridge],
    ] as const) {
      const { url } = json(await startLink(browser, provider));
      waiting.push((await browser.travel(url, stopBefore)).end);
    }
    await end(owner);
    for (const url of waiting) {
      expect((await browser.travel(url)).end).toBe(`${system.stack.appUrl}/settings?error=session_ended`);
    }
    const accounts = system.mongo.db().collection("_oauth_accounts");
    expect(await accounts.countDocuments({ userId: new ObjectId(userId) })).toBe(0);
  });

  it("that signs in somebody else is account_in_use, and stays theirs", async () => {
    become(system.providers, newPeople(`else${count}`));
    const other = system.traveller();
    await signInOnApp(other, system.stack, "github");
    await logIn();
    const { url } = json(await startLink(browser, "github"));
    const { end } = await browser.travel(url);
    expect(end).toBe(`${system.stack.appUrl}/settings?error=account_in_use`);
    expect(await linked()).toEqual([]);
    expect((await linked(other)).map(({ provider }) => provider)).toEqual(["github"]);
  });

  it("again changes nothing", async () => {
    await logIn();
    for (let each = 0; each < 2; each += 1) {
      const { url } = json(await startLink(browser, "google"));
      expect((await browser.travel(url)).end).toBe(`${system.stack.appUrl}/settings`);
    }
    expect(await linked()).toHaveLength(1);
  });
});

describe("GET and DELETE /me/oauth-accounts", () => {
  const remove = (id: string, traveller = browser) =>
    traveller.go(`${api}/me/oauth-accounts/${id}`, { method: "DELETE", headers: ownPage() });

  it("need a sign-in", async () => {
    expect((await browser.go(`${api}/me/oauth-accounts`)).status).toBe(401);
    expect((await remove("64b000000000000000000001")).status).toBe(401);
  });

  it("sets no password for an account without one, which counts as no failed sign-in; root can", async () => {
    await admin.delete(`/svc_user/${userId}`);
    await signInOnApp(browser, system.stack, "google");
    const [account] = await linked();
    const { sub = "" } = decodeJwt(appToken(browser));
    const ann = apiOf(api, { Authorization: `Bearer ${appToken(browser)}` });
    for (const [currentPassword, refused] of [
      [undefined, 400],
      [null, 400],
      ["", 409],
      ...Array(6).fill([password, 409]),
    ]) {
      const { status, body } = await ann.patch("/me", { password: "a new password", currentPassword });
      expect([currentPassword, status]).toEqual([currentPassword, refused]);
      if (status === 409) expect(body.message).toContain("has no password");
    }
    const entries = system.mongo.db().collection("svc_audit");
    expect(await entries.countDocuments({ event: "sign-in.failed", userId: new ObjectId(sub) })).toBe(0);
    const logIn = () => apiOf(api).post("/auth/login", { email, password: "a new password" });
    expect((await logIn()).status).toBe(401);
    expect((await remove(account?.id ?? "")).status).toBe(409);
    expect((await admin.patch(`/svc_user/${sub}`, { password: "a new password" })).status).toBe(200);
    expect((await logIn()).status).toBe(200);
  });

  it("shows one's own and no secrets, and takes one away when a password is left", async () => {
    await signInOnApp(browser, system.stack, "google");
    const [account] = await linked();
    expect(Object.keys(account ?? {})).toEqual(["id", "provider", "email", "origin", "createdAt"]);
    const answer = await remove(account?.id ?? "");
    expect([answer.status, json(answer)]).toEqual([200, { statusCode: 200, message: "Success" }]);
    expect(await linked()).toEqual([]);
    expect((await remove(account?.id ?? "")).status).toBe(404);
  });

  it("takes away with it the sign-ins that are under way", async () => {
    await signInOnApp(browser, system.stack, "google");
    const late = system.traveller();
    const { end } = await signInOnApp(late, system.stack, "google", isBridge);
    const sessions = system.mongo.db().collection("_sessions");
    const before = await sessions.countDocuments();
    const [account] = await linked();
    expect((await remove(account?.id ?? "")).status).toBe(200);
    const answer = await late.go(end);
    expect([answer.status, json(answer).error.details]).toEqual([400, { reason: "unknown" }]);
    expect([answer.headers.getSetCookie(), await sessions.countDocuments()]).toEqual([[], before]);
  });

  it("ends with it the sessions that the provider has opened, but for the one that asks, and no others", async () => {
    await logIn();
    await browser.travel(json(await startLink(browser, "github")).url);
    await browser.travel(json(await startLink(browser, "google")).url);
    const signedIn = async (provider: ProviderName): Promise<Traveller> => {
      const traveller = system.traveller();
      await signInOnApp(traveller, system.stack, provider);
      return traveller;
    };
    const asking = await signedIn("github");
    const all = [browser, asking, await signedIn("github"), await signedIn("google")];
    const statuses = () => Promise.all(all.map(async (each) => (await each.go(`${api}/me`)).status));
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    const github = (await linked()).find(({ provider }) => provider === "github");
    expect((await remove(github?.id ?? "", asking)).status).toBe(200);
    expect(await statuses()).toEqual([200, 200, 401, 200]);
  });

  it("refuses the last way to sign in with 409, also when the last two go at once", async () => {
    become(system.providers, newPeople(`only${count}`));
    await signInOnApp(browser, system.stack, "google");
    const [first] = await linked();
    const refused = await remove(first?.id ?? "");
    expect([refused.status, json(refused).error.code]).toEqual([409, "CONFLICT"]);
    expect(json(refused).message).toContain(
      "connect another provider first, or ask a root admin for a password",
    );

    for (let round = 0; round < 6; round += 1) {
      const connected = (await linked()).map(({ provider }) => provider);
      for (const provider of (["google", "github"] as const).filter((each) => !connected.includes(each)))
        await browser.travel(json(await startLink(browser, provider)).url);
      const both = await linked();
      expect(both).toHaveLength(2);
      const statuses = (await Promise.all(both.map(({ id }) => remove(id)))).map(({ status }) => status);
      expect([
        [409, 409],
        [200, 409],
      ]).toContainEqual(statuses.toSorted());
      expect(await linked()).toHaveLength(statuses.includes(200) ? 1 : 2);
    }
    const left = await linked();
    if (left.length === 2) expect((await remove(left[0]?.id ?? "")).status).toBe(200);
    expect((await remove((await linked())[0]?.id ?? "")).status).toBe(409);
  });

  it("knows no account of somebody else, and no nonsense", async () => {
    const other = system.traveller();
    become(system.providers, newPeople(`else${count}`));
    await signInOnApp(other, system.stack, "google");
    const [theirs] = await linked(other);
    await logIn();
    for (const id of [theirs?.id ?? "", "64b000000000000000000001", "x", "%7B%7D"]) {
      expect([id, (await remove(id)).status]).toEqual([id, 404]);
    }
    expect(await linked(other)).toHaveLength(1);
  });
});

describe("a deactivated user", () => {
  it("does not get in by a provider, linked or by address", async () => {
    await signInOnApp(browser, system.stack, "google");
    await admin.patch(`/svc_user/${userId}`, { isActive: false });
    for (const provider of ["google", "github"] as const) {
      const { end } = await signInOnApp(system.traveller(), system.stack, provider);
      expect(end).toBe(`${system.stack.appUrl}/after?error=account_disabled`);
    }
  });

  it("does not get in with a code from before", async () => {
    const { end } = await signInOnApp(browser, system.stack, "google", isBridge);
    await admin.patch(`/svc_user/${userId}`, { isActive: false });
    const answer = await browser.go(end);
    expect([answer.location, answer.headers.getSetCookie()]).toEqual([
      `${system.stack.appUrl}/after?error=account_disabled`,
      [],
    ]);
  });
});

describe("a deleted user", () => {
  it("leaves nothing behind: the provider makes a new one", async () => {
    await signInOnApp(browser, system.stack, "google");
    await logIn();
    await browser.travel(json(await startLink(browser, "github")).url);
    expect(await providersOf(userId)).toBe(2);
    await admin.delete(`/svc_user/${userId}`);
    expect(await providersOf(userId)).toBe(0);
    const later = system.traveller();
    await signInOnApp(later, system.stack, "google");
    const made = decodeJwt(appToken(later)).sub;
    expect(made).toMatch(/^[0-9a-f]{24}$/);
    expect(made).not.toBe(userId);
  });
});

describe("a user who is deleted between the callback and the bridge", () => {
  it.each([
    ["was signed in by the provider before", () => signInOnApp(browser, system.stack, "google")],
    ["was to be linked to it by the address", async () => {}],
  ])("does not come back as a new account: one who %s", async (_who, prepare) => {
    await prepare();
    const { end } = await signInOnApp(browser, system.stack, "google", isBridge);
    await admin.delete(`/svc_user/${userId}`);
    const answer = await browser.go(end);
    expect([answer.location, answer.headers.getSetCookie()]).toEqual([
      `${system.stack.appUrl}/after?error=account_disabled`,
      [],
    ]);
    expect((await admin.get("/svc_user", { filter: { email } })).body.data).toEqual([]);
  });
});

describe("a user who was being made when the process died", () => {
  it("is made by the next sign-in, under the id written down", async () => {
    become(system.providers, newPeople(`half${count}`));
    await signInOnApp(browser, system.stack, "google");
    const made = new ObjectId(String(decodeJwt(appToken(browser)).sub));
    await users().deleteOne({ _id: made });
    await system.mongo
      .db()
      .collection("_oauth_accounts")
      .updateOne({ userId: made }, { $set: { pending: true } });
    const later = system.traveller();
    await signInOnApp(later, system.stack, "google");
    expect(decodeJwt(appToken(later)).sub).toBe(made.toHexString());
  });
});
