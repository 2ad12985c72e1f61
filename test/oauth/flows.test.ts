// Contract 3.4 from the first redirect to the session, for each provider, on the app's own origin and through the bridge.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { decodeJwt } from "jose";
import { ObjectId } from "mongodb";
import { apiOf, asAdmin } from "../support/api.js";
import { loggedByNow } from "../support/process-facts.js";
import { become, newPeople, PROVIDER_NAMES, type Profiles, type ProviderName } from "./support/providers.js";
import {
  CHAT,
  isBridge,
  type OAuthSystem,
  PREFIXES,
  signInOnApp,
  signInOnChat,
  startOAuthSystem,
  startUrl,
} from "./support/system.js";
import type { Traveller } from "./support/traveller.js";

let system: OAuthSystem;
let traveller: Traveller;
let people: Profiles;
let count = 0;

beforeAll(async () => {
  system = await startOAuthSystem();
});
afterAll(() => system?.stop());

beforeEach(() => {
  count += 1;
  people = newPeople(`person${count}`);
  become(system.providers, people);
  traveller = system.traveller();
});

const me = async (origin: string, base = `${system.stack.appUrl}/api`) => {
  const answer = await apiOf(base).send("GET", "/me?fields=email,name,isRootAdmin,role", {
    headers: { Cookie: traveller.cookieHeader(origin) },
  });
  return answer.body.data?.[0];
};

describe("a sign-in that can't be finished in this moment", () => {
  it.each([
    // Beginning it and taking it up again are two requests of this address; signing in would be the third.
    ["at the callback", "2"],
    ["at the bridge", "3"],
  ])("comes back to the app, which may begin another one: %s", async (_name, perMinute) => {
    const busy = await startOAuthSystem({ RATE_LIMIT_PER_MINUTE: perMinute });
    try {
      become(busy.providers, people);
      const { end } = await signInOnChat(busy.traveller(), "google");
      expect(end).toBe(`${CHAT}/after?error=provider_unavailable`);
      expect(await busy.mongo.db().collection("_oauth_flows").countDocuments()).toBe(0);
    } finally {
      await busy.stop();
    }
  });

  it("comes back to the app, too, where its account is being changed all the time", async () => {
    const users = system.mongo.db().collection("svc_user");
    await (await asAdmin(system.stack)).post("/svc_user", { email: "other@example.com", name: "Twin" });
    // Whoever makes the account finds that somebody else was faster.
    const index = await users.createIndex(
      { name: 1 },
      { unique: true, partialFilterExpression: { name: "Twin" } },
    );
    try {
      become(system.providers, newPeople("Twin"));
      const { end } = await signInOnChat(traveller, "google");
      expect(end).toBe(`${CHAT}/after?error=provider_unavailable`);
    } finally {
      await users.dropIndex(index);
    }
  });
});

describe("a root admin", () => {
  /** In the session of this origin. */
  const makeToken = async (browser: Traveller, origin: string, prefix: string): Promise<string> => {
    const answer = await browser.go(`${origin}${prefix}/auth/api-tokens`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: origin },
      body: JSON.stringify({ name: "ci", expiresAt: "never" }),
    });
    return JSON.parse(answer.text).data[0].token;
  };
  /** In the session of this origin. */
  const connect = async (browser: Traveller, origin: string, prefix: string, provider: ProviderName) => {
    const answer = await browser.go(`${origin}${prefix}/auth/${provider}/link`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: origin },
      body: JSON.stringify({ redirect: `${origin}/connected`, cookieBridgePrefix: prefix }),
    });
    expect((await browser.travel(JSON.parse(answer.text).url)).end).toBe(`${origin}/connected`);
  };
  const tokens = () => system.mongo.db().collection("_api_tokens");
  /** By which a token is stored. */
  const hashed = (token: string) => ({ hash: createHash("sha256").update(token).digest("hex") });
  /** Of a call that is for root admins alone. */
  const statusWith = async ({ stack }: OAuthSystem, token: string): Promise<number> =>
    (await apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${token}` }).get("/svc_user")).status;
  const makeRoot = async ({ stack }: OAuthSystem, browser: Traveller): Promise<void> => {
    const { sub } = decodeJwt(browser.cookies(stack.appUrl).get("accessToken") ?? "");
    const answer = await (await asAdmin(stack)).patch(`/svc_user/${sub}`, { isRootAdmin: true });
    expect(answer.status).toBe(200);
  };
  const asRoot = () => become(system.providers, newPeople("root", system.stack.admin.email));

  it("signs in on the app's own origin alone: no other app is handed a session that may do everything", async () => {
    asRoot();
    const journey = await signInOnChat(traveller, "google");
    expect(journey.end).toBe(`${CHAT}/after?error=root_admin_elsewhere`);
    expect([...traveller.cookies(CHAT).keys()].filter((name) => /Token/.test(name))).toEqual([]);
    traveller = system.traveller();
    const { appUrl } = system.stack;
    expect((await signInOnApp(traveller, system.stack, "google")).end).toBe(`${appUrl}/after`);
    expect((await me(appUrl)).isRootAdmin).toBe(true);
  });

  it("who becomes one loses the sessions that providers opened on other origins, and no other (A22)", async () => {
    const { appUrl } = system.stack;
    await signInOnChat(traveller, "google");
    await signInOnApp(traveller, system.stack, "google");
    await makeRoot(system, traveller);
    const sessions = await traveller.go(`${appUrl}/api/me/sessions`);
    expect(JSON.parse(sessions.text).data).toEqual([expect.objectContaining({ origin: appUrl })]);
    const lost = await traveller.go(`${CHAT}/portal/me`);
    expect([lost.status, [...traveller.cookies(CHAT).keys()]]).toEqual([401, []]);
    expect((await me(appUrl)).isRootAdmin).toBe(true);
    const { sub } = decodeJwt(traveller.cookies(appUrl).get("accessToken") ?? "");
    // Whoever holds a copy of its refresh token has nothing when the user is none any more.
    const left = await system.mongo
      .db()
      .collection("_sessions")
      .distinct("origin", { userId: new ObjectId(sub) });
    expect(left).toEqual([appUrl]);
  });

  it("is served by no API token that was made in such a session before (A22)", async () => {
    const { appUrl } = system.stack;
    await signInOnChat(traveller, "google");
    await signInOnApp(traveller, system.stack, "google");
    const ofChat = await makeToken(traveller, CHAT, "/portal");
    const ofApp = await makeToken(traveller, appUrl, "/api");
    await makeRoot(system, traveller);
    expect(await statusWith(system, ofChat)).toBe(401);
    expect(await statusWith(system, ofApp)).toBe(200);
    const stored = await tokens().findOne(hashed(ofChat));
    expect(await loggedByNow(system.stack)).toContain(
      `"tokenId":"${stored?._id}","origin":"${CHAT}","message":"an API token of a root admin is refused`,
    );
  });

  describe("whose account an app of another origin has connected with a provider account of its own", () => {
    const endOf = async (provider: ProviderName): Promise<string> =>
      (await signInOnApp(system.traveller(), system.stack, provider)).end;
    const refused = () => `${system.stack.appUrl}/after?error=root_admin_elsewhere`;
    const accounts = () => system.mongo.db().collection("_oauth_accounts");
    let own: Traveller;

    beforeEach(async () => {
      own = system.traveller();
      await signInOnApp(own, system.stack, "google");
      await signInOnChat(traveller, "google");
      become(system.providers, { ...newPeople(`app${count}`), google: people.google });
      await connect(traveller, CHAT, "/portal", "github");
    });

    it("is not signed in by it, not on the app's own origin either, and the user sees where it was (A22)", async () => {
      const { appUrl } = system.stack;
      expect(await endOf("github")).toBe(`${appUrl}/after`);
      await makeRoot(system, own);
      expect(await endOf("github")).toBe(refused());
      expect(await endOf("google")).toBe(`${appUrl}/after`);
      const { text } = await own.go(`${appUrl}/api/me/oauth-accounts`);
      const shown = JSON.parse(text).data.map((each: { provider: string; origin: string }) => [
        each.provider,
        each.origin,
      ]);
      expect(shown).toEqual([
        ["google", null],
        ["github", CHAT],
      ]);
    });

    it("loses the sessions that it opened, and what was made in them is of no use (A22)", async () => {
      const { appUrl } = system.stack;
      const intruder = system.traveller();
      await signInOnApp(intruder, system.stack, "github");
      const token = await makeToken(intruder, appUrl, "/api");
      await connect(intruder, appUrl, "/api", "facebook");
      expect((await intruder.go(`${appUrl}/api/me`)).status).toBe(200);
      await makeRoot(system, own);
      expect((await intruder.go(`${appUrl}/api/me`)).status).toBe(401);
      expect(await statusWith(system, token)).toBe(401);
      expect(await endOf("facebook")).toBe(refused());
      const { sub } = decodeJwt(own.cookies(appUrl).get("accessToken") ?? "");
      const left = await system.mongo
        .db()
        .collection("_sessions")
        .countDocuments({ userId: new ObjectId(sub) });
      expect(left).toBe(1);
    });

    it("is signed in by it where an earlier version connected it, which does not tell where", async () => {
      await accounts().updateMany({ origin: CHAT }, { $unset: { origin: 1, connectedOn: 1 } });
      await makeRoot(system, own);
      expect(await endOf("github")).toBe(`${system.stack.appUrl}/after`);
    });
  });

  it("is signed in by a provider that was connected on another origin after a sign-in by password", async () => {
    const headers = { "Content-Type": "application/json", Origin: CHAT };
    const login = { method: "POST", headers, body: JSON.stringify(system.stack.admin) };
    expect((await traveller.go(`${CHAT}/portal/login`, login)).status).toBe(200);
    await connect(traveller, CHAT, "/portal", "github");
    const { appUrl } = system.stack;
    const browser = system.traveller();
    expect((await signInOnApp(browser, system.stack, "github")).end).toBe(`${appUrl}/after`);
    expect((await browser.go(`${appUrl}/api/me`)).status).toBe(200);
  });

  it("is served by API tokens of earlier versions, which do not tell where they were made", async () => {
    await signInOnChat(traveller, "google");
    await signInOnApp(traveller, system.stack, "google");
    const token = await makeToken(traveller, CHAT, "/portal");
    await tokens().updateOne(hashed(token), { $unset: { provider: 1, origin: 1 } });
    await makeRoot(system, traveller);
    expect(await statusWith(system, token)).toBe(200);
  });

  it("signs in for other origins as well where OAUTH_ROOT_ELSEWHERE says so, and makes API tokens there", async () => {
    const trusting = await startOAuthSystem({ OAUTH_ROOT_ELSEWHERE: "true" });
    try {
      become(trusting.providers, newPeople("root", trusting.stack.admin.email));
      const admin = trusting.traveller();
      expect((await signInOnChat(admin, "google")).end).toBe(`${CHAT}/after`);
      expect(await statusWith(trusting, await makeToken(admin, CHAT, "/portal"))).toBe(200);
    } finally {
      await trusting.stop();
    }
  });
});

describe.each(PROVIDER_NAMES)("signing in with %s", (provider) => {
  it("on the app's own origin ends on the page asked for, with a session there", async () => {
    const journey = await signInOnApp(traveller, system.stack, provider);
    const { appUrl } = system.stack;
    expect(journey.end).toBe(`${appUrl}/after`);
    expect(await me(appUrl)).toEqual({
      email: `person${count}@example.com`,
      name: `person${count}`,
      isRootAdmin: false,
      role: null,
    });
    const token = traveller.cookies(appUrl).get("accessToken") ?? "";
    expect(decodeJwt(token).origin).toBe(appUrl);
  });

  it.each(PREFIXES)("through the bridge at %s ends in a session of the other origin", async (prefix) => {
    const journey = await signInOnChat(traveller, provider, prefix);
    expect(journey.end).toBe(`${CHAT}/after`);
    expect(journey.steps.at(-1)?.url).toMatch(`${CHAT}${prefix}/auth/set-cookies?code=`);
    expect(decodeJwt(traveller.cookies(CHAT).get("__Host-accessToken") ?? "").origin).toBe(CHAT);
    expect((await me(CHAT)).email).toBe(`person${count}@example.com`);
    expect([...traveller.cookies(system.stack.appUrl).keys()]).toEqual([]);
  });

  it("again signs in the same user", async () => {
    const { appUrl, dataUrl } = system.stack;
    await signInOnApp(traveller, system.stack, provider);
    const userOf = (token = "") => decodeJwt(token).sub;
    const first = userOf(traveller.cookies(appUrl).get("accessToken"));
    traveller = system.traveller();
    await signInOnChat(traveller, provider);
    expect(userOf(traveller.cookies(CHAT).get("__Host-accessToken"))).toBe(first);
    expect(dataUrl).not.toBe(appUrl);
  });
});

describe("a sign-in", () => {
  it("sends state, PKCE S256, the fixed callback address and the contract's scopes", async () => {
    const { appUrl } = system.stack;
    const scopes = { google: "openid email profile", facebook: "email,public_profile", github: "user:email" };
    for (const provider of PROVIDER_NAMES) {
      const { location, status } = await traveller.go(startUrl(`${appUrl}/api`, provider, `${appUrl}/`));
      const { searchParams } = new URL(location ?? "");
      expect([status, Object.fromEntries(searchParams)]).toEqual([
        302,
        {
          client_id: `${provider}-client`,
          response_type: "code",
          redirect_uri: `${appUrl}/api/auth/${provider}/callback`,
          scope: scopes[provider],
          state: expect.stringMatching(/^[\w-]{43}$/),
          code_challenge: expect.stringMatching(/^[\w-]{43}$/),
          code_challenge_method: "S256",
        },
      ]);
    }
  });

  it("makes no session before the bridge: the callback sets no cookie", async () => {
    const sessions = system.mongo.db().collection("_sessions");
    const before = await sessions.countDocuments();
    const journey = await signInOnApp(traveller, system.stack, "google", isBridge);
    expect(journey.last.headers.getSetCookie()).toEqual([]);
    expect(journey.end).toMatch(/\/api\/auth\/set-cookies\?code=[\w-]{43}&redirect=/);
    expect(await sessions.countDocuments()).toBe(before);
  });

  it("is none of the Authorization header's business, whatever that says", async () => {
    traveller = system.traveller({ Authorization: "Bearer nonsense" });
    const { steps, end } = await signInOnApp(traveller, system.stack, "google");
    const { appUrl } = system.stack;
    const ours = steps.filter(({ url }) => url.startsWith(`${appUrl}/api/`));
    expect(ours.map(({ status, url }) => [status, new URL(url).pathname])).toEqual([
      [302, "/api/auth/google"],
      [302, "/api/auth/google/callback"],
      [302, "/api/auth/set-cookies"],
    ]);
    expect(end).toBe(`${appUrl}/after`);
    expect((await me(appUrl)).email).toBe(`person${count}@example.com`);
  });

  it("lasts 7 days and says how it began", async () => {
    await signInOnApp(traveller, system.stack, "github");
    const refreshToken = traveller.cookies(system.stack.appUrl).get("refreshToken");
    const { body } = await apiOf(system.stack.dataUrl).post("/auth/refresh-token", { refreshToken });
    expect(body.loginProvider).toBe("github");
    const days = (body.refreshExpTime - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(6.9);
    expect(days).toBeLessThanOrEqual(7);
  });

  it("makes a user without a password, who can not sign in with one", async () => {
    await signInOnApp(traveller, system.stack, "google");
    const email = `person${count}@example.com`;
    const user = await system.mongo.db().collection("svc_user").findOne({ email });
    expect(user).not.toHaveProperty("passwordHash");
    const answer = await apiOf(`${system.stack.appUrl}/api`).post("/auth/login", {
      email,
      password: "undefined",
    });
    expect([answer.status, answer.body.error.code]).toEqual([401, "INVALID_CREDENTIALS"]);
  });

  it("returns to the redirect byte for byte: query, percent-encoding and fragment", async () => {
    for (const rest of [
      "/",
      "/dashboard?tab=1&x=%20y",
      "/#/inbox/42",
      "/%E2%9C%93?next=https%3A%2F%2Fevil.com",
    ]) {
      const journey = await traveller.travel(
        startUrl(`${CHAT}/portal`, "google", CHAT + rest, "/portal"),
        (url) => url.startsWith(`${CHAT}/`) && !isBridge(url),
      );
      expect(journey.end).toBe(CHAT + rest);
    }
  });
});

describe("GET /auth/providers", () => {
  it("lists what is configured, in the fixed order, whatever the Authorization header says", async () => {
    const answer = await apiOf(`${system.stack.appUrl}/api`, { Authorization: "Bearer nonsense" }).get(
      "/auth/providers",
    );
    expect([answer.status, answer.body.data]).toEqual([
      200,
      [{ provider: "google" }, { provider: "facebook" }, { provider: "github" }],
    ]);
  });

  it("leaves out what is not, whose routes are 404", async () => {
    const some = await startOAuthSystem({ GOOGLE_CLIENT_ID: "", GOOGLE_CLIENT_SECRET: "" });
    try {
      const api = apiOf(`${some.stack.appUrl}/api`);
      expect((await api.get("/auth/providers")).body.data).toEqual([
        { provider: "facebook" },
        { provider: "github" },
      ]);
      const redirect = `${some.stack.appUrl}/`;
      for (const [method, path] of [
        ["GET", `/auth/google?redirect=${redirect}`],
        ["GET", "/auth/google/callback?state=x"],
        ["POST", "/auth/google/link"],
        ["GET", `/auth/gitlab?redirect=${redirect}`],
        ["GET", "/auth/gitlab/callback?state=x"],
        ["POST", "/auth/gitlab/link"],
      ] as const) {
        const { status, body } = await api.send(method, path);
        const [at] = path.split("?");
        const message = `There is nothing at /api${at}; GET /api/auth/providers names the providers that are set up. Users sign in by POST /api/login, and sign up by a POST to their table, where a rule lets them.`;
        expect([status, body.message]).toEqual([404, message]);
      }
    } finally {
      await some.stop();
    }
  });
});
