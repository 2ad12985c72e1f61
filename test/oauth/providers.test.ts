// What each provider answers, and what is made of it: the traps of the libraries, one test each.
import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ObjectId } from "mongodb";
import { apiOf, asAdmin } from "../support/api.js";
import { untilLogged } from "../support/process-facts.js";
import { become, newPeople, PROVIDER_NAMES, type ProviderName } from "./support/providers.js";
import {
  CHAT,
  isBridge,
  isCallback,
  type OAuthSystem,
  signInOnApp,
  signInOnChat,
  startOAuthSystem,
} from "./support/system.js";

let system: OAuthSystem;
let email: string;
let count = 0;

beforeAll(async () => {
  system = await startOAuthSystem();
});
afterAll(() => system?.stop());

beforeEach(() => {
  count += 1;
  email = `trap${count}@example.com`;
  become(system.providers, newPeople(`trap${count}`));
  system.providers.asked.length = 0;
});
afterEach(() => {
  system.providers.trouble = "none";
  system.providers.tokenAnswer = undefined;
  system.providers.refusals.clear();
});

/** Signs in with a fresh browser. @returns the user's e-mail, or the error on the return address */
async function outcomeOf(provider: ProviderName): Promise<{ email?: string; error?: string | null }> {
  const traveller = system.traveller();
  const { end } = await signInOnChat(traveller, provider);
  if (end !== `${CHAT}/after`) return { error: new URL(end).searchParams.get("error") };
  const { text } = await traveller.go(`${CHAT}/portal/me?fields=email`);
  return { email: JSON.parse(text).data[0].email };
}

describe("the profile request", () => {
  it("to Google carries the token in a header, never in the address", async () => {
    await outcomeOf("google");
    const [asked] = system.providers.asked;
    expect(asked?.url).toBe("/google/userinfo");
    expect(asked?.headers.authorization).toMatch(/^Bearer eyJ/);
  });

  it("to GitHub carries the token in a header, and asks for all addresses", async () => {
    await outcomeOf("github");
    expect(system.providers.asked.map(({ url }) => url)).toEqual(["/github/user", "/github/user/emails"]);
    for (const { headers } of system.providers.asked) {
      expect([headers.authorization, headers["user-agent"]]).toEqual([
        expect.stringMatching(/^Bearer eyJ/),
        "Portico",
      ]);
    }
  });

  it("to Facebook proves the app's secret, and names the fields it needs", async () => {
    await outcomeOf("facebook");
    const { searchParams, pathname } = new URL(system.providers.asked[0]?.url ?? "", "http://x");
    const token = searchParams.get("access_token") ?? "";
    expect([pathname, searchParams.get("fields")]).toEqual(["/facebook/me", "id,email,name"]);
    const proof = createHmac("sha256", "facebook-secret").update(token).digest("hex");
    expect(searchParams.get("appsecret_proof")).toBe(proof);
  });
});

describe("the way back from a provider", () => {
  it.each([
    ["facebook", "ends the fragment that Facebook adds, before it comes to the app", /#$/],
    ["google", "has no fragment", /^[^#]+$/],
    ["github", "has no fragment", /^[^#]+$/],
  ] as const)("from %s %s", async (provider, _name, address) => {
    const { last } = await signInOnChat(system.traveller(), provider, "/portal", isBridge);
    expect(last.location).toMatch(address);
  });
});

describe("the default addresses", () => {
  it("of Facebook name a Graph version of today, not the library's", async () => {
    const bare = await startOAuthSystem({ FACEBOOK_AUTHORIZATION_URL: "" });
    try {
      const { location } = await bare
        .traveller()
        .go(`${bare.stack.appUrl}/api/auth/facebook?redirect=${bare.stack.appUrl}/`);
      expect(location).toMatch(/^https:\/\/www\.facebook\.com\/v2\d\.0\/dialog\/oauth\?/);
    } finally {
      await bare.stop();
    }
  });
});

describe("B2 an address that the provider has not verified", () => {
  const unverified: [string, ProviderName, () => void][] = [
    ["Google says so", "google", () => patch("google", { email_verified: false })],
    ["Google says nothing", "google", () => patch("google", { email_verified: undefined })],
    ["Google says it in text", "google", () => patch("google", { email_verified: "true" })],
    ["Facebook never says", "facebook", () => {}],
    ["GitHub says so", "github", () => emails([{ email, primary: true, verified: false }])],
    [
      "GitHub's primary one is another's, a secondary one verified",
      "github",
      () =>
        emails([
          { email: `other-${email}`, primary: false, verified: true },
          { email, primary: true, verified: false },
        ]),
    ],
  ];
  const patch = (provider: "google", change: object): void => {
    system.providers.profiles[provider] = { ...Object(system.providers.profiles[provider]), ...change };
  };
  const emails = (rows: object[]): void => {
    system.providers.profiles.githubEmails = rows;
  };

  it.each(unverified)("opens nobody's account: %s", async (_name, provider, arrange) => {
    const admin = await asAdmin(system.stack);
    const { id } = (await admin.post("/svc_user", { email, password: "somebody's own" })).body.data[0];
    arrange();
    expect(await outcomeOf(provider)).toEqual({ error: "email_in_use" });
    const accounts = system.mongo.db().collection("_oauth_accounts");
    expect(await accounts.find({ email }).toArray()).toEqual([]);
    expect((await admin.get(`/svc_user/${id}`)).body.data[0].email).toBe(email);
  });

  it.each(unverified)("of nobody makes a new account: %s", async (_name, provider, arrange) => {
    arrange();
    expect(await outcomeOf(provider)).toEqual({ email });
  });

  it("GitHub: a verified secondary address of somebody opens nothing", async () => {
    const admin = await asAdmin(system.stack);
    await admin.post("/svc_user", { email, password: "somebody's own" });
    emails([
      { email, primary: false, verified: true },
      { email: `own-${email}`, primary: true, verified: true },
    ]);
    expect(await outcomeOf("github")).toEqual({ email: `own-${email}` });
  });

  it("GitHub: the public address of the profile proves nothing", async () => {
    const admin = await asAdmin(system.stack);
    await admin.post("/svc_user", { email, password: "somebody's own" });
    system.providers.profiles.github = { ...Object(system.providers.profiles.github), email };
    emails([{ email: `own-${email}`, primary: true, verified: true }]);
    expect(await outcomeOf("github")).toEqual({ email: `own-${email}` });
  });
});

describe("a verified address of somebody", () => {
  it.each(["google", "github"] as const)(
    "signs them in through %s, password and all else kept",
    async (provider) => {
      const admin = await asAdmin(system.stack);
      await admin.post("/svc_user", { email, password: "somebody's own", name: "Own Name" });
      expect(await outcomeOf(provider)).toEqual({ email });
      const login = await apiOf(`${system.stack.appUrl}/api`).post("/auth/login", {
        email,
        password: "somebody's own",
      });
      expect(login.status).toBe(200);
    },
  );

  it("B3 is theirs in any case", async () => {
    const admin = await asAdmin(system.stack);
    await admin.post("/svc_user", { email, password: "somebody's own" });
    system.providers.profiles.google = {
      ...Object(system.providers.profiles.google),
      email: `  ${email.toUpperCase()} `,
    };
    expect(await outcomeOf("google")).toEqual({ email });
  });
});

describe("an answer that is no identity", () => {
  const answers: [string, ProviderName, object | string | null][] = [
    ["Google without sub", "google", { email: "x@example.com", email_verified: true }],
    ["Google with a sub that is an object", "google", { sub: { $ne: null }, email: "x@example.com" }],
    ["Facebook without id", "facebook", { email: "x@example.com" }],
    ["GitHub without id, which the library calls undefined", "github", { login: "x" }],
    ["Google with no JSON", "google", "<html>"],
    ["Facebook with no JSON", "facebook", "<html>"],
    ["GitHub with no JSON", "github", "<html>"],
    ["Google with null", "google", null],
    ["Facebook with null", "facebook", null],
    ["GitHub with null", "github", null],
  ];
  it.each(answers)("is provider_error: %s", async (_name, provider, answer) => {
    system.providers.profiles[provider] = answer;
    expect(await outcomeOf(provider)).toEqual({ error: "provider_error" });
  });

  it.each([["<html>"], [{}]])("is provider_error: GitHub's addresses as %j", async (answer) => {
    system.providers.profiles.githubEmails = answer;
    expect(await outcomeOf("github")).toEqual({ error: "provider_error" });
  });

  it.each(PROVIDER_NAMES)("is provider_error: a refused code of %s", async (provider) => {
    system.providers.tokenAnswer = { status: 400, body: { error: "invalid_grant" } };
    expect(await outcomeOf(provider)).toEqual({ error: "provider_error" });
  });

  it("is provider_error: an access token that is no text, over which the library throws", async () => {
    system.providers.tokenAnswer = { status: 200, body: { access_token: { a: 1 } } };
    expect(await outcomeOf("facebook")).toEqual({ error: "provider_error" });
  });
});

describe("a missing address", () => {
  it.each([
    ["google", () => newGoogle(undefined)],
    ["google", () => newGoogle("not an address")],
    [
      "facebook",
      () => {
        system.providers.profiles.facebook = { id: "77", name: "No Mail" };
      },
    ],
    [
      "github",
      () => {
        system.providers.profiles.githubEmails = [
          { email: "old@example.com", primary: false, verified: true },
        ];
      },
    ],
  ] as const)("is email_missing: %s", async (provider, arrange) => {
    arrange();
    expect(await outcomeOf(provider)).toEqual({ error: "email_missing" });
  });

  const newGoogle = (address: string | undefined): void => {
    system.providers.profiles.google = { sub: "g", email: address, email_verified: true };
  };
});

describe("an address that a provider gives", () => {
  const asGoogle = (address: string) =>
    Object.assign(system.providers.profiles, {
      google: { sub: `odd-${count}`, email: address, email_verified: true },
    });

  it("may be of a host without a dot, and stays as it is in a form that sends it along", async () => {
    asGoogle(`joe${count}@localhost`);
    expect(await outcomeOf("google")).toEqual({ email: `joe${count}@localhost` });
    const admin = await asAdmin(system.stack);
    const filter = { email: `joe${count}@localhost` };
    const [user] = (await admin.get("/svc_user", { filter })).body.data;
    const answer = await admin.patch(`/svc_user/${user.id}`, { ...filter, name: "renamed" });
    expect([answer.status, answer.body.data[0]]).toMatchObject([200, { ...filter, name: "renamed" }]);
  });

  it.each(["joe@corp.", "<b>@z.example", "a\u200bb@z.example", "a\u202eb@z.example", '"q q"@z.example'])(
    "is none that a body could not give: %j",
    async (address) => {
      asGoogle(address);
      expect(await outcomeOf("google")).toEqual({ error: "email_missing" });
      const answer = await (await asAdmin(system.stack)).post("/svc_user", { email: address });
      expect([answer.status, answer.body.message]).toEqual([400, ["email: must be a valid email"]]);
    },
  );
});

describe("addresses that GitHub does not show", () => {
  const refuse = (status: number) => system.providers.refusals.set("/github/user/emails", status);
  const hidden: [string, () => unknown][] = [
    ["none in the list", () => Object.assign(system.providers.profiles, { githubEmails: [] })],
    ["a 404", () => refuse(404)],
    ["a 403", () => refuse(403)],
  ];

  it.each(hidden)("are not needed by a linked user: %s", async (_name, hide) => {
    expect(await outcomeOf("github")).toEqual({ email });
    hide();
    expect(await outcomeOf("github")).toEqual({ email });
  });

  it.each(hidden)("are email_missing of a new one: %s", async (_name, hide) => {
    hide();
    expect(await outcomeOf("github")).toEqual({ error: "email_missing" });
  });

  it.each([503, 429])(
    "are provider_unavailable where GitHub says %d, of a new user and of a linked one",
    async (status) => {
      refuse(status);
      expect(await outcomeOf("github")).toEqual({ error: "provider_unavailable" });
      system.providers.refusals.clear();
      expect(await outcomeOf("github")).toEqual({ email });
      refuse(status);
      expect(await outcomeOf("github")).toEqual({ error: "provider_unavailable" });
    },
  );
});

describe("a provider that refuses", () => {
  it.each([
    ["error=org_internal", "org_internal"],
    ["error=%3Cscript%3E", "other"],
    ["", "no code"],
    ["code=x&iss=https%3A%2F%2Fevil.example", "another issuer"],
  ])("is logged with its reason: %j", async (answer, reason) => {
    const traveller = system.traveller();
    const { end } = await signInOnChat(traveller, "google", "/portal", isCallback);
    const callback = new URL(end);
    callback.search = `state=${callback.searchParams.get("state")}&${answer}`;
    const { location } = await traveller.go(callback.href);
    expect(new URL(location ?? "").searchParams.get("error")).toBe("provider_error");
    const pattern = new RegExp(`"provider":"google","reason":"${reason}".*"provider refused"`);
    expect(await untilLogged(system.stack.gateway, pattern)).not.toContain("<script>");
  });
});

describe("a provider in trouble", () => {
  it.each([
    ["is down", "down"],
    ["answers without end", "flood"],
  ] as const)("that %s is provider_unavailable", async (_name, trouble) => {
    system.providers.trouble = trouble;
    expect(await outcomeOf("github")).toEqual({ error: "provider_unavailable" });
  });

  it("A18 that hangs is given up after ten seconds, and its flow is gone", async () => {
    const traveller = system.traveller();
    const { end } = await signInOnChat(traveller, "google", "/portal", isCallback);
    system.providers.trouble = "hang";
    const started = performance.now();
    const { location } = await traveller.go(end);
    const took = performance.now() - started;
    // Its hand-in and its way back are a second at most; the rest is for a machine that does other things as well.
    expect(took).toBeGreaterThan(9_000);
    expect(took).toBeLessThan(16_000);
    expect(new URL(location ?? "").searchParams.get("error")).toBe("provider_unavailable");
    system.providers.trouble = "none";
    expect((await traveller.go(end)).status).toBe(400);
  });

  it("is logged without what it answered", async () => {
    const log = await untilLogged(system.stack.gateway, /provider gave no identity/);
    expect(log.match(/\w+-secret|<html>|eyJ\w+/g)).toBeNull();
  });
});

describe("OAUTH_SIGNUP=false", () => {
  it("makes no user, and signs in who is known", async () => {
    const closed = await startOAuthSystem({ OAUTH_SIGNUP: "false" });
    try {
      become(closed.providers, newPeople("closed"));
      const first = await signInOnChat(closed.traveller(), "google");
      expect(first.end).toBe(`${CHAT}/after?error=signup_disabled`);
      const admin = await asAdmin(closed.stack);
      await admin.post("/svc_user", { email: "closed@example.com" });
      expect((await signInOnChat(closed.traveller(), "google")).end).toBe(`${CHAT}/after`);
    } finally {
      await closed.stop();
    }
  });
});

describe("OAUTH_SIGNUP_ROLE", () => {
  const id = "64b0000000000000000000a1";

  it.each([
    ["the name", "Member"],
    ["the id", id],
  ])("by %s of a role gives it to the users whom sign-ins make, and to no others", async (_name, setting) => {
    const open = await startOAuthSystem({ OAUTH_SIGNUP_ROLE: setting });
    try {
      const admin = await asAdmin(open.stack);
      const signUp = async (name: string) => {
        become(open.providers, newPeople(name));
        await signInOnApp(open.traveller(), open.stack, "google");
        const filter = { email: `${name}@example.com` };
        return (await admin.get("/svc_user", { filter, fields: "role.name,isRootAdmin" })).body.data;
      };
      const alike = { isRootAdmin: false };
      expect(await signUp("early")).toEqual([{ ...alike, role: null }]);
      await untilLogged(open.stack.dataService, /OAUTH_SIGNUP_ROLE names no role/);
      const at = new Date();
      const role = { _id: ObjectId.createFromHexString(id), name: "Member", createdAt: at, updatedAt: at };
      await open.mongo.db().collection("svc_role").insertOne(role);
      expect(await signUp("late")).toEqual([{ ...alike, role: { id, name: "Member" } }]);
      const filter = { event: "user.created" };
      const { data } = (await admin.get("/svc_audit", { filter, sort: "createdAt", fields: "details" })).body;
      const details = { provider: "google" };
      expect(data).toEqual([{ details }, { details: { ...details, role: id } }]);
      expect(await signUp("early")).toEqual([{ ...alike, role: null }]);
      await admin.post("/svc_user", { email: "known@example.com", password: "a long password" });
      expect(await signUp("known")).toEqual([{ ...alike, role: null }]);
    } finally {
      await open.stop();
    }
  });
});
