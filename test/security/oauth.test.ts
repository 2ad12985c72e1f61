// Security rows A1 to A24: the OAuth flow and the cookie bridge.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { secretHash } from "@portico/shared/secret-hash";
import { setCookies } from "../contract/auth/jar.js";
import { become, newPeople, PROVIDER_NAMES } from "../oauth/support/providers.js";
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
import { apiOf } from "../support/api.js";
import { loggedByNow, untilLogged } from "../support/process-facts.js";

let system: OAuthSystem;
let api: string;
let owner: Traveller;
let stranger: Traveller;
let count = 0;

beforeAll(async () => {
  system = await startOAuthSystem();
  api = `${system.stack.appUrl}/api`;
});
afterAll(() => system?.stop());

beforeEach(() => {
  count += 1;
  become(system.providers, newPeople(`row${count}`));
  owner = system.traveller();
  stranger = system.traveller();
});

const errorOf = ({ text }: Step) => JSON.parse(text).error;
const sessionCookies = (step: Step) => setCookies(step).filter(({ name }) => /Token$|expTime$/.test(name));
const refused = (step: Step) => [step.status, step.location, sessionCookies(step)];
const REFUSED = [400, null, []];
const ARRIVED = [302, `${CHAT}/after`];

/** Lets the newest row be over. @returns the seconds it had left */
async function expireNewest(collection: string): Promise<number> {
  const change = { $set: { expiresAt: new Date(Date.now() - 1) } };
  const row = await system.mongo
    .db()
    .collection<{ expiresAt: Date }>(collection)
    .findOneAndUpdate({}, change, { sort: { expiresAt: -1 } });
  return ((row?.expiresAt.getTime() ?? 0) - Date.now()) / 1000;
}

/** Up to the bridge, with the code in the address. */
const toBridge = async (traveller = owner): Promise<string> =>
  (await signInOnChat(traveller, "google", "/portal", isBridge)).end;

describe("the bridge", () => {
  it("A1 refuses another browser's code, which its owner can still use", async () => {
    const bridge = await toBridge();
    await toBridge(stranger);
    expect(refused(await stranger.go(bridge))).toEqual(REFUSED);
    expect(refused(await system.traveller().go(bridge))).toEqual(REFUSED);
    const arrived = await owner.go(bridge);
    expect([arrived.status, arrived.location]).toEqual(ARRIVED);
    expect(sessionCookies(arrived)).toHaveLength(3);
  });

  it("A2 makes a new session, and ends the one the browser had", async () => {
    await signInOnChat(owner, "google");
    const known = owner.cookies(CHAT).get("__Host-refreshToken") ?? "";
    await signInOnChat(owner, "google");
    expect(owner.cookies(CHAT).get("__Host-refreshToken")).not.toBe(known);
    const answer = await fetch(`${api}/auth/refresh-token`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ refreshToken: known }),
    });
    expect(answer.status).toBe(401);
  });

  it("A3 takes a code once, and writes down the second try", async () => {
    const bridge = await toBridge();
    const cookie = { headers: { Cookie: owner.cookieHeader(CHAT) } };
    expect((await owner.go(bridge)).status).toBe(302);
    const again = await stranger.go(bridge, cookie);
    expect(refused(again)).toEqual(REFUSED);
    expect(errorOf(again).details).toEqual({ reason: "unknown" });
    await untilLogged(system.stack.dataService, /"event":"bridge.replay"/);
  });

  it("A4 refuses a code after its 60 s, swept away or not", async () => {
    const bridge = await toBridge();
    const left = await expireNewest("_bridge_codes");
    expect(left).toBeGreaterThan(30);
    expect(left).toBeLessThanOrEqual(60);
    expect(refused(await owner.go(bridge))).toEqual(REFUSED);
  });

  it("A5 refuses a code on another origin", async () => {
    const bridge = new URL(await toBridge());
    await signInOnApp(owner, system.stack, "google", isBridge);
    expect(refused(await owner.go(`${api}/auth/set-cookies${bridge.search}`))).toEqual(REFUSED);
  });

  it("A6 lets HEAD, prefetch, frames, scripts and link previews spend nothing", async () => {
    const bridge = await toBridge();
    const tries: [RequestInit & { headers?: Record<string, string> }, number][] = [
      [{ method: "HEAD" }, 405],
      [{ method: "POST" }, 405],
      [{ headers: { "Sec-Purpose": "prefetch" } }, 400],
      [{ headers: { "Sec-Purpose": "prefetch;prerender" } }, 400],
      [{ headers: { Purpose: "prefetch" } }, 400],
      [{ headers: { "Sec-Fetch-Dest": "iframe" } }, 400],
      [{ headers: { "Sec-Fetch-Dest": "image" } }, 400],
      [{ headers: { "Sec-Fetch-Dest": "empty" } }, 400],
    ];
    for (const [init, status] of tries) {
      const answer = await owner.go(bridge, init);
      expect([init, answer.status, answer.location]).toEqual([init, status, null]);
    }
    expect((await stranger.go(bridge)).status).toBe(400);
    const arrived = await owner.go(bridge, { headers: { "Sec-Fetch-Dest": "document" } });
    expect([arrived.status, arrived.location]).toEqual(ARRIVED);
  });

  it("A7 keeps the code out of the final address, the logs, the caches and the referrer", async () => {
    const bridge = await toBridge();
    const code = new URL(bridge).searchParams.get("code") ?? "";
    const arrived = await owner.go(bridge);
    expect(arrived.location).not.toContain(code);
    expect(arrived.headers.get("cache-control")).toBe("no-store");
    expect(arrived.headers.get("referrer-policy")).toBe("no-referrer");
    expect(await loggedByNow(system.stack)).not.toContain(code);
  });

  it("A10 returns only where the flow began: another redirect is refused and spends nothing", async () => {
    const bridge = await toBridge();
    for (const redirect of ["https://evil.com", `${CHAT}/other`, `${system.stack.appUrl}/after`]) {
      const url = new URL(bridge);
      url.searchParams.set("redirect", redirect);
      expect(refused(await owner.go(url.href))).toEqual(REFUSED);
    }
    expect(refused(await owner.go(`${bridge}&redirect=https://evil.com`))).toEqual(REFUSED);
    const without = new URL(bridge);
    without.searchParams.delete("redirect");
    const arrived = await owner.go(without.href);
    expect([arrived.status, arrived.location]).toEqual(ARRIVED);
  });

  it.each(["", "?code=", "?code=x", "?code=a&error=access_denied", `?code=${"a".repeat(43)}`])(
    "refuses %j without cookies",
    async (search) => {
      expect(refused(await owner.go(`${api}/auth/set-cookies${search}`))).toEqual(REFUSED);
    },
  );

  it("A21 takes no state for a code, and the API takes no code for a token", async () => {
    const authorize = await owner.go(startUrl(`${CHAT}/portal`, "google", `${CHAT}/after`, "/portal"));
    const state = new URL(authorize.location ?? "").searchParams.get("state");
    expect(refused(await owner.go(`${CHAT}/portal/auth/set-cookies?code=${state}`))).toEqual(REFUSED);
    const code = new URL(await toBridge()).searchParams.get("code");
    expect((await owner.go(`${api}/me`, { headers: { Authorization: `Bearer ${code}` } })).status).toBe(401);
  });
});

describe("a sign-in with an error", () => {
  it("goes back to the app with one of our words, and no cookies", async () => {
    const url = `${CHAT}/portal/auth/set-cookies?error=access_denied&redirect=${encodeURIComponent(`${CHAT}/a?b=1#c`)}`;
    const answer = await owner.go(url);
    expect([answer.status, answer.location, answer.headers.getSetCookie()]).toEqual([
      302,
      `${CHAT}/a?b=1&error=access_denied#c`,
      [],
    ]);
  });

  it.each([
    ["access_denied", "https://evil.com/"],
    ["access_denied", ""],
    ["%3Cscript%3E", `${CHAT}/`],
    ["toString", `${CHAT}/`],
  ])("A17 with %s for %s is no redirect", async (error, redirect) => {
    const answer = await owner.go(`${api}/auth/set-cookies?error=${error}&redirect=${redirect}`);
    expect(refused(answer)).toEqual(REFUSED);
    expect(answer.text).not.toContain("<script>");
  });

  it.each([
    ["access_denied", "access_denied"],
    ["temporarily_unavailable", "provider_unavailable"],
    ["invalid_scope", "provider_error"],
    ["%3Cscript%3Ealert(1)%3C/script%3E", "provider_error"],
    ["email_in_use", "provider_error"],
  ])("A17 the provider's %s becomes %s", async (theirs, ours) => {
    const { end } = await signInOnChat(owner, "google", "/portal", isCallback);
    const callback = new URL(end);
    const answer = await owner.go(
      `${api}/auth/google/callback?state=${callback.searchParams.get("state")}&error=${theirs}&error_description=%3Cb%3E`,
    );
    const bridge = new URL(answer.location ?? "");
    expect([bridge.origin + bridge.pathname, bridge.search]).toEqual([
      `${CHAT}/portal/auth/set-cookies`,
      `?error=${ours}&redirect=${encodeURIComponent(`${CHAT}/after`)}`,
    ]);
    expect(answer.text).toBe("");
  });

  it("A17 of no flow of ours goes nowhere", async () => {
    const answer = await owner.go(`${api}/auth/google/callback?error=%3Cscript%3E&state=${"S".repeat(43)}`);
    expect(refused(answer)).toEqual(REFUSED);
    expect(answer.text).not.toContain("<script>");
  });
});

describe("the callback", () => {
  it("A9 on the app's own origin takes no other browser, and spends nothing on it", async () => {
    const { end } = await signInOnApp(owner, system.stack, "google", isCallback);
    expect(refused(await stranger.go(end))).toEqual(REFUSED);
    await signInOnApp(stranger, system.stack, "google", isCallback);
    expect(refused(await stranger.go(end))).toEqual(REFUSED);
    expect((await owner.travel(end)).end).toBe(`${system.stack.appUrl}/after`);
  });

  it("A10 ignores a redirect in its address", async () => {
    const { end } = await signInOnChat(owner, "google", "/portal", isCallback);
    const { location } = await owner.go(`${end}&redirect=https://evil.com&cookieBridgePrefix=//evil.com`);
    expect(location).toMatch(`${CHAT}/portal/auth/set-cookies?code=`);
    expect(location).not.toContain("evil.com");
  });

  it("A13 takes a state once, for its own provider, and only as one plain text", async () => {
    const { end } = await signInOnChat(owner, "google", "/portal", isCallback);
    const { search } = new URL(end);
    expect(refused(await owner.go(`${api}/auth/github/callback${search}`))).toEqual(REFUSED);
    expect(refused(await owner.go(`${end}&state=x`))).toEqual(REFUSED);
    expect(refused(await owner.go(end.replace("state=", "state[]=")))).toEqual(REFUSED);
    expect((await owner.go(end)).status).toBe(302);
    expect(refused(await owner.go(end))).toEqual(REFUSED);
  });

  it("A13 refuses a provider that names itself as another", async () => {
    const { end } = await signInOnChat(owner, "google", "/portal", isCallback);
    const { location } = await owner.go(`${end}&iss=${encodeURIComponent("https://evil.com")}`);
    expect(new URL(location ?? "").searchParams.get("error")).toBe("provider_error");
  });

  it("A13 takes no state after 10 minutes, swept away or not", async () => {
    const { end } = await signInOnChat(owner, "google", "/portal", isCallback);
    expect(Math.round((await expireNewest("_oauth_flows")) / 60)).toBe(10);
    expect(refused(await owner.go(end))).toEqual(REFUSED);
  });

  it.each(PROVIDER_NAMES)("A23 of %s needs a state, even with a code", async (provider) => {
    const { end } = await signInOnChat(owner, provider, "/portal", isCallback);
    const url = new URL(end);
    url.searchParams.delete("state");
    expect(refused(await owner.go(url.href))).toEqual(REFUSED);
    expect((await owner.go(end)).status).toBe(302);
  });

  it("A14 sends the verifier that matches its challenge, a new one each time", async () => {
    const challenges = new Set<string | null>();
    for (let each = 0; each < 50; each += 1) {
      const { location } = await owner.go(startUrl(api, "google", `${system.stack.appUrl}/`));
      const { searchParams } = new URL(location ?? "");
      expect(searchParams.get("code_challenge_method")).toBe("S256");
      challenges.add(searchParams.get("code_challenge"));
    }
    expect(challenges.size).toBe(50);
    // The OAuth 2 server compares them itself, and refuses what does not match.
    expect((await signInOnChat(owner, "google")).end).toBe(`${CHAT}/after`);
    expect(system.providers.tokenForms.at(-1)?.code_verifier).toMatch(/^[\w-]{43}$/);
  });

  it("A15 believes no ID token: who it is comes from the provider's own endpoint", async () => {
    const forged = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from('{"sub":"admin"}').toString("base64url")}.`;
    system.providers.tokenAnswer = { status: 200, body: { access_token: "t", id_token: forged } };
    await signInOnChat(owner, "google");
    system.providers.tokenAnswer = undefined;
    const { text } = await owner.go(`${CHAT}/portal/me?fields=email`);
    expect(JSON.parse(text).data).toEqual([expect.objectContaining({ email: `row${count}@example.com` })]);
  });

  it.each(PROVIDER_NAMES)("A16 takes an error of %s with status 200 for what it is", async (provider) => {
    system.providers.tokenAnswer = { status: 200, body: { error: "bad_verification_code" } };
    const { end } = await signInOnChat(owner, provider);
    system.providers.tokenAnswer = undefined;
    expect(end).toBe(`${CHAT}/after?error=provider_error`);
  });
});

describe("the start", () => {
  it("A12 has its addresses from the settings, whatever Host and X-Forwarded-Host say", async () => {
    const { hostname, port } = new URL(system.stack.gateway.url);
    const path = new URL(startUrl(api, "google", `${system.stack.appUrl}/`));
    const location = await new Promise<string>((resolve, reject) => {
      const sent = request({
        hostname,
        port,
        path: path.pathname + path.search,
        headers: { Host: "evil.com", "X-Forwarded-Host": "evil.com", "X-Forwarded-Proto": "gopher" },
      });
      sent.on("response", (response) => resolve(response.resume().headers.location ?? ""));
      sent.on("error", reject);
      sent.end();
    });
    expect(new URL(location).searchParams.get("redirect_uri")).toBe(`${api}/auth/google/callback`);
  });

  // Node's fetch has a mode of its own.
  it.each([
    ["a page", "document", "navigate", 302],
    ["a page's service worker, which passes a navigation on", "empty", "navigate", 302],
    ["a page's script", "empty", "cors", 400],
    ["a page's script, without CORS", "empty", "no-cors", 400],
    ["a frame", "iframe", "navigate", 400],
  ])("A6 is for navigation: %s", async (_who, destination, mode, status) => {
    const headers = { "Sec-Fetch-Dest": destination, "Sec-Fetch-Mode": mode };
    const { pathname, search } = new URL(startUrl(api, "google", `${system.stack.appUrl}/`));
    const url = new URL(pathname + search, system.stack.gateway.url);
    const sent = request(url, { agent: false, headers: { ...headers, Host: new URL(api).host } }).end();
    const [answer]: IncomingMessage[] = await once(sent, "response");
    expect(answer?.resume().statusCode).toBe(status);
  });

  it("A19 leaves at most five flow cookies in a jar, and the newest flow works", async () => {
    for (let each = 0; each < 40; each += 1) {
      await owner.go(startUrl(`${CHAT}/portal`, "google", `${CHAT}/after`, "/portal"));
    }
    expect(owner.cookies(CHAT).size).toBe(5);
    expect(owner.cookieHeader(CHAT).length).toBeLessThan(4096);
    expect((await signInOnChat(owner, "google")).end).toBe(`${CHAT}/after`);
    const [flow] = await system.mongo.db().collection("_oauth_flows").find().limit(1).toArray();
    expect(JSON.stringify(flow).length).toBeLessThan(1024);
  });

  it("A19 lets one address begin OAUTH_STARTS_PER_MINUTE sign-ins, and keeps nothing of those above", async () => {
    const limited = await startOAuthSystem({ OAUTH_STARTS_PER_MINUTE: "3", TRUST_PROXY: "loopback" });
    try {
      const path = startUrl("/api", "google", `${limited.stack.appUrl}/`);
      const startFrom = (address: string) =>
        apiOf(limited.stack.appUrl, { "X-Forwarded-For": address }).get(path);
      const statuses = [];
      for (let at = 0; at < 4; at += 1) statuses.push((await startFrom("198.51.100.1")).status);
      expect(statuses).toEqual([302, 302, 302, 429]);
      const refusal = await startFrom("198.51.100.1");
      expect(Number(refusal.headers.get("Retry-After"))).toBeGreaterThan(0);
      expect(refusal.body.error.code).toBe("TOO_MANY_REQUESTS");
      expect(refusal.headers.getSetCookie()).toEqual([]);
      expect(await limited.mongo.db().collection("_oauth_flows").countDocuments()).toBe(3);
      expect((await startFrom("203.0.113.1")).status).toBe(302);
    } finally {
      await limited.stop();
    }
  });

  it("A19 lets several tabs sign in side by side, each by its own cookie", async () => {
    const [first, second] = [await toBridge(), await toBridge()];
    expect(owner.cookies(CHAT).size).toBe(2);
    for (const bridge of [first, second]) {
      const arrived = await owner.go(bridge);
      expect([arrived.status, arrived.location]).toEqual(ARRIVED);
    }
    expect([...owner.cookies(CHAT).keys()].filter((name) => name.includes("oauthFlow"))).toEqual([]);
  });

  it("sets a host-only flow cookie that scripts can't read, for 10 minutes, with __Host- on https", async () => {
    const onChat = await owner.go(startUrl(`${CHAT}/portal`, "google", `${CHAT}/after`, "/portal"));
    const onApp = await owner.go(startUrl(api, "google", `${system.stack.appUrl}/`));
    for (const [answer, prefix, secure] of [
      [onChat, "__Host-", "; Secure"],
      [onApp, "", ""],
    ] as const) {
      const lines = answer.headers.getSetCookie();
      expect(lines).toEqual([
        expect.stringMatching(
          new RegExp(
            `^${prefix}oauthFlow-[\\w-]{8}=[\\w.-]+; Max-Age=600; Path=/; Expires=[^;]+; HttpOnly${secure}; Priority=High; SameSite=Lax$`,
          ),
        ),
      ]);
    }
  });

  it("takes a flow cookie planted under its plain name for another one", async () => {
    const bridge = await toBridge();
    const [[name, value] = ["", ""]] = [...owner.cookies(CHAT)];
    const planted = `${name.replace("__Host-", "")}=${value}`;
    expect(refused(await stranger.go(bridge, { headers: { Cookie: planted } }))).toEqual(REFUSED);
  });

  /** As a sibling domain can, with `Domain=`: more of them than are looked at. */
  const plant = (traveller: Traveller, origin: string, begunAtSeconds: number): void => {
    const value = `${begunAtSeconds.toString(36)}.${"x".repeat(43)}`;
    for (let at = 10; at < 35; at += 1) traveller.cookies(origin).set(`oauthFlow-fixed_${at}`, value);
  };

  it("A19 finds its own cookie on https among newer plain ones that a sibling domain planted", async () => {
    const bridge = await toBridge();
    plant(owner, CHAT, Math.floor(Date.now() / 1000) + 5);
    const arrived = await owner.go(bridge);
    expect([arrived.status, arrived.location]).toEqual(ARRIVED);
  });

  it("A19 finds its own cookie on http among those that say they will begin in a year", async () => {
    const { end } = await signInOnApp(owner, system.stack, "google", isCallback);
    plant(owner, system.stack.appUrl, Math.floor(Date.now() / 1000) + 365 * 86_400);
    expect((await owner.travel(end)).end).toBe(`${system.stack.appUrl}/after`);
  });

  it("answers HEAD, prefetch and frames without beginning anything", async () => {
    const url = startUrl(api, "google", `${system.stack.appUrl}/`);
    const flows = system.mongo.db().collection("_oauth_flows");
    const before = await flows.countDocuments();
    expect((await owner.go(url, { method: "HEAD" })).status).toBe(405);
    expect((await owner.go(url, { headers: { "Sec-Purpose": "prefetch" } })).status).toBe(400);
    expect((await owner.go(url, { headers: { "Sec-Fetch-Dest": "iframe" } })).status).toBe(400);
    expect(await flows.countDocuments()).toBe(before);
  });

  it("C14 is in the database without its code, its state and its flow cookie", async () => {
    const secretsIn = ({ end }: { end: string }): (string | null)[] =>
      ["state", "code"].map((name) => new URL(end).searchParams.get(name));
    const atCallback = secretsIn(await signInOnChat(owner, "google", "/portal", isCallback));
    const atBridge = secretsIn(await signInOnChat(stranger, "google", "/portal", isBridge));
    const flowCookies = [owner, stranger].flatMap((each) => [...each.cookies(CHAT).values()]);
    const secrets = [...atCallback, ...atBridge, ...flowCookies].filter((secret) => secret !== null);
    expect(secrets.length).toBeGreaterThanOrEqual(5);
    for (const name of ["_oauth_flows", "_bridge_codes"]) {
      const dump = JSON.stringify(await system.mongo.db().collection(name).find().toArray());
      expect(dump.length).toBeGreaterThan(2);
      for (const secret of secrets) expect([name, dump.includes(secret)]).toEqual([name, false]);
    }
  });

  it("A24 on the app for another origin's page ends with flow_cookie_missing, and spends nothing", async () => {
    const { end } = await owner.travel(startUrl(api, "google", `${CHAT}/after`, "/portal"), isBridge);
    const _id = secretHash(new URL(end).searchParams.get("code") ?? "");
    const row = () => system.mongo.db().collection<{ _id: string }>("_bridge_codes").findOne({ _id });
    const before = await row();
    expect(before).not.toBeNull();
    const answer = await owner.go(end);
    expect(refused(answer)).toEqual(REFUSED);
    expect(errorOf(answer).details).toEqual({ reason: "flow_cookie_missing" });
    expect(errorOf(answer).message).toContain("flow_cookie_missing");
    expect(await row()).toEqual(before);
  });
});

describe("every answer of the flow", () => {
  it("A8 can't be framed, and shares no window", async () => {
    const { steps } = await signInOnApp(owner, system.stack, "google");
    const answers = [
      ...steps.filter(({ url }) => url.startsWith(api)),
      await owner.go(`${api}/auth/providers`),
      await owner.go(`${api}/auth/set-cookies`),
      await owner.go(`${api}/auth/google/callback`),
    ];
    expect(answers).toHaveLength(6);
    for (const { headers } of answers) {
      expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
    }
  });

  it("A20 carries no token in an address", async () => {
    for (const provider of PROVIDER_NAMES) {
      const journeys = [
        await signInOnApp(owner, system.stack, provider),
        await signInOnChat(stranger, provider),
      ];
      for (const { location } of journeys.flatMap(({ steps }) => steps)) {
        expect(location ?? "").not.toMatch(/eyJ|svc_rt_|svc_pat_/);
      }
    }
  });
});

describe("a session of another origin", () => {
  it("A22 writes nothing from the app's own page", async () => {
    await signInOnChat(owner, "google");
    const answer = await owner.go(`${CHAT}/portal/logout`, {
      method: "POST",
      headers: { Origin: system.stack.appUrl },
    });
    expect(answer.status).toBe(403);
    expect((await owner.go(`${CHAT}/portal/me`)).status).toBe(200);
    const own = await owner.go(`${CHAT}/portal/logout`, { method: "POST", headers: { Origin: CHAT } });
    expect(own.status).toBe(200);
  });
});

describe("with OAUTH_REQUIRE_FLOW_COOKIE=false", () => {
  let lax: OAuthSystem;
  beforeAll(async () => {
    lax = await startOAuthSystem({ OAUTH_REQUIRE_FLOW_COOKIE: "false" });
    become(lax.providers, newPeople("lax"));
  });
  afterAll(() => lax?.stop());

  it("A24 a direct start arrives, once", async () => {
    const browser = lax.traveller();
    const { appUrl } = lax.stack;
    const { end } = await browser.travel(
      startUrl(`${appUrl}/api`, "google", `${CHAT}/after`, "/portal"),
      isBridge,
    );
    const arrived = await browser.go(end);
    expect([arrived.status, arrived.location]).toEqual(ARRIVED);
    expect(sessionCookies(arrived)).toHaveLength(3);
    expect(refused(await browser.go(end))).toEqual(REFUSED);
  });

  it("A24 connecting a provider still needs the cookie of the browser that began", async () => {
    const attacker = lax.traveller();
    await signInOnChat(attacker, "google");
    const beginning = await attacker.go(`${CHAT}/portal/auth/github/link`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: CHAT },
      body: JSON.stringify({ redirect: `${CHAT}/after`, cookieBridgePrefix: "/portal" }),
    });
    become(lax.providers, newPeople("victim"));
    const { end } = await lax.traveller().travel(JSON.parse(beginning.text).url, isBridge);
    const answer = await lax.traveller().go(end);
    expect(refused(answer)).toEqual(REFUSED);
    expect(errorOf(answer).details).toEqual({ reason: "flow_cookie_missing" });
    const accounts = await attacker.go(`${CHAT}/portal/me/oauth-accounts`);
    expect(JSON.parse(accounts.text).data).toHaveLength(1);
  });

  it("A24 a sign-in on the app's own origin still needs its cookie", async () => {
    const browser = lax.traveller();
    const { end } = await signInOnApp(browser, lax.stack, "google", isBridge);
    expect(refused(await lax.traveller().go(end))).toEqual(REFUSED);
    expect((await browser.go(end)).status).toBe(302);
  });
});
