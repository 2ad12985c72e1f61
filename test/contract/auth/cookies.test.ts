// Contract 3.3: the session cookies, and how the gateway refreshes them.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { type Api, apiOf, asAdmin } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { atOnce, makeTable, tally } from "../records/make.js";
import { Browser, type HeaderLines, isClearing, setCookies } from "./jar.js";

const TTL_SECONDS = 2;
const NAMES = ["accessToken", "refreshToken", "expTime"];

let stack: Stack;
let browser: Browser;
let database: MongoClient;

beforeAll(async () => {
  stack = await startStack({ env: { ACCESS_TOKEN_TTL_SECONDS: String(TTL_SECONDS) } });
  database = await MongoClient.connect(stack.mongodbUrl);
  await makeTable(await asAdmin(stack), { name: "notes", columns: [{ name: "text", type: "string" }] });
});

afterAll(async () => {
  await database.close();
  await stack.stop();
});

beforeEach(async () => {
  browser = new Browser(stack);
  await browser.logIn(stack.admin);
});

const accessExpiry = () => delay(TTL_SECONDS * 1000 + 100);

/** How often the session of this jar has been refreshed. */
async function generation(of: Browser): Promise<number | undefined> {
  const claims = Buffer.from((of.cookies.accessToken ?? "").split(".")[1] ?? "", "base64url").toString();
  const sessions = database.db().collection<{ _id: string; generation: number }>("_sessions");
  return (await sessions.findOne({ _id: JSON.parse(claims).sid }))?.generation;
}

describe("each Set-Cookie line", () => {
  it("is HttpOnly, SameSite=Lax, Path=/, with Max-Age and Expires and without Domain", async () => {
    const lines = setCookies(await new Browser(stack).logIn(stack.admin));
    expect(lines.map(({ name }) => name)).toEqual(NAMES);
    for (const { attributes } of lines) {
      expect(attributes).toEqual({
        httponly: "",
        samesite: "Lax",
        priority: "High",
        path: "/",
        "max-age": expect.stringMatching(/^\d+$/),
        expires: expect.stringMatching(/GMT$/),
      });
    }
  });

  it("lives as long as what it holds", async () => {
    const answer = await new Browser(stack).logIn({ ...stack.admin, remember: true });
    const ages = setCookies(answer).map(({ attributes }) => Number(attributes["max-age"]));
    expect(ages[0]).toBeLessThanOrEqual(TTL_SECONDS);
    expect(Math.abs((ages[1] ?? 0) - 7 * 86_400)).toBeLessThan(10);
    expect(setCookies(answer)[2]?.value).toBe(String(answer.body.expTime));
  });

  it("C12 leaves room: all together are far below what browsers and servers take", async () => {
    const jar = new Browser(stack);
    await jar.logIn(stack.admin);
    expect(jar.cookieHeader.length).toBeLessThan(2048);
  });
});

describe("an app on https", () => {
  const [HTTPS_APP, HTTP_APP] = ["https://app.example.com", "http://shop.localhost:4000"];
  let secure: Stack;

  beforeAll(async () => {
    const env = { APP_URL: HTTPS_APP, ALLOWED_ORIGINS: HTTP_APP };
    secure = await startStack({ env, mongodbUrl: stack.mongodbUrl, dataDir: stack.dataDir });
  });

  // Not the whole stack: its database is the other one's.
  afterAll(async () => {
    await secure?.gateway.stop();
    await secure?.dataService.stop();
  });

  it("has cookies with the prefix __Host- and Secure", async () => {
    const lines = setCookies(await new Browser(secure).logIn(stack.admin));
    expect(lines.map(({ name }) => name)).toEqual(NAMES.map((name) => `__Host-${name}`));
    for (const { attributes } of lines) expect(attributes).toMatchObject({ secure: "", path: "/" });
    for (const { attributes } of lines) expect(attributes).not.toHaveProperty("domain");
  });

  it.each<[string, HeaderLines]>([
    ["by a program", {}],
    ["on its page", { Origin: HTTPS_APP }],
  ])(
    "lets nobody be signed in by plain cookies that a sibling planted, of a session begun %s",
    async (_by, headers) => {
      const attacker = new Browser(secure);
      await attacker.logIn(stack.admin, headers);
      const { "__Host-accessToken": accessToken, "__Host-refreshToken": refreshToken } = attacker.cookies;
      for (const planted of [{ accessToken, refreshToken }, { accessToken }, { refreshToken }]) {
        const answer = await Browser.with(secure, planted).get("/me");
        expect([answer.status, setCookies(answer)]).toEqual([401, []]);
      }
    },
  );

  it("takes the plain cookies of a session that was made for an app on http, and refreshes them", async () => {
    const shopper = new Browser(secure);
    await shopper.logIn(stack.admin, { Origin: HTTP_APP });
    expect(Object.keys(shopper.cookies)).toEqual(NAMES);
    expect((await shopper.get("/me")).status).toBe(200);
    const later = Browser.with(secure, { refreshToken: shopper.cookies.refreshToken });
    expect((await later.get("/me")).status).toBe(200);
    expect(Object.keys(later.cookies).sort()).toEqual([...NAMES].sort());
  });
});

describe("a signed-in browser", () => {
  it("is who it signed in as", async () => {
    expect((await browser.get("/me")).body.data[0].email).toBe(stack.admin.email);
  });

  it("gets answers that are not to be stored", async () => {
    expect((await browser.get("/me")).headers.get("cache-control")).toBe("no-store");
    expect((await new Browser(stack).logIn(stack.admin)).headers.get("cache-control")).toBe("no-store");
  });
});

describe("the gateway refreshes", () => {
  it.each([
    ["missing", () => undefined],
    ["empty", () => ""],
    ["malformed", () => "eyJhbGciOiJub25lIn0.e30"],
    ["no JWT at all", () => "nonsense"],
  ])("when the access cookie is %s, on that same answer", async (_name, spoil) => {
    const { refreshToken } = browser.cookies;
    const jar = Browser.with(stack, { refreshToken, accessToken: spoil() });
    const answer = await jar.get("/me");
    expect([answer.status, answer.body.data?.[0].email]).toEqual([200, stack.admin.email]);
    expect(setCookies(answer).map(({ name }) => name)).toEqual(NAMES);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  it("when the access cookie has expired", async () => {
    await accessExpiry();
    const answer = await browser.get("/me");
    expect([answer.status, setCookies(answer).length]).toEqual([200, 3]);
  });

  it("shortly before the access cookie expires", async () => {
    await delay(TTL_SECONDS * 1000 * 0.75);
    const before = browser.cookies.accessToken;
    expect((await browser.get("/me")).status).toBe(200);
    expect(browser.cookies.accessToken).not.toBe(before);
  });

  it("for a write as well, and the write is done once", async () => {
    await accessExpiry();
    expect((await browser.post("/notes", { text: "after expiry" })).status).toBe(201);
    const { body } = await browser.get(`/notes?filter=${encodeURIComponent('{"text":"after expiry"}')}`);
    expect(body.data.length).toBe(1);
  });

  it("once for twenty requests at the same time, which all get the same cookies", async () => {
    await accessExpiry();
    const before = await generation(browser);
    const expired = browser.cookies;
    const answers = await atOnce(20, () => Browser.with(stack, expired).get("/me"));
    expect(tally(answers)).toEqual({ 200: 20 });
    const lines = answers.map((answer) =>
      setCookies(answer)
        .map(({ name, value }) => `${name}=${value}`)
        .join(),
    );
    expect(new Set(lines).size).toBe(1);
    expect(await generation(browser)).toBe((before ?? Number.NaN) + 1);
  });

  it("again and again, as long as the browser comes back", async () => {
    for (let round = 0; round < 5; round += 1) {
      const jar = Browser.with(stack, { refreshToken: browser.cookies.refreshToken });
      expect((await jar.get("/me")).status).toBe(200);
      browser = jar;
    }
    expect(await generation(browser)).toBe(5);
  });

  it("for nobody on log-in", async () => {
    const before = await generation(browser);
    const jar = Browser.with(stack, { refreshToken: browser.cookies.refreshToken });
    const answer = await jar.post("/login", { ...stack.admin, password: "wrong password" });
    expect([answer.status, setCookies(answer)]).toEqual([401, []]);
    expect(await generation(browser)).toBe(before);
  });

  it("and never shows the new token to the page", async () => {
    const jar = Browser.with(stack, { refreshToken: browser.cookies.refreshToken });
    const { headers, body } = await jar.get("/me");
    expect(JSON.stringify([...headers].filter(([name]) => name !== "set-cookie"))).not.toMatch(/eyJ|svc_rt_/);
    expect(JSON.stringify(body)).not.toMatch(/eyJ|svc_rt_/);
  });
});

describe("a refused refresh", () => {
  it.each([
    ["forged", "svc_rt_forged"],
    ["an access token", "eyJhbGciOiJub25lIn0.e30.x"],
  ])(
    "of a token that is %s clears the cookies, and the request goes on as anonymous",
    async (_name, refreshToken) => {
      const jar = Browser.with(stack, { refreshToken, accessToken: "nonsense" });
      const answer = await jar.get("/nothing");
      expect(answer.status).toBe(404);
      const lines = setCookies(answer);
      expect(lines.map(({ name }) => name)).toEqual(NAMES);
      for (const line of lines) expect([line.name, isClearing(line)]).toEqual([line.name, true]);
    },
  );

  it("of a session that was ended elsewhere clears the cookies", async () => {
    const { refreshToken } = browser.cookies;
    await apiOf(`${stack.appUrl}/api`).post("/auth/logout", { refreshToken });
    const jar = Browser.with(stack, { refreshToken });
    expect((await jar.get("/me")).status).toBe(401);
    expect(jar.cookies).toEqual({});
  });

  it("of a session that a page ends by its token ends no other: not that of its cookies", async () => {
    const other = (await apiOf(`${stack.appUrl}/api`).post("/auth/login", stack.admin)).body;
    expect((await browser.post("/auth/logout", { refreshToken: other.refreshToken })).status).toBe(200);
    const asOther = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${other.accessToken}` });
    expect([(await asOther.get("/me")).status, (await browser.get("/me")).status]).toEqual([401, 200]);
  });

  it("leaves no way back for a stolen copy: reuse ends the session for both", async () => {
    const stolen = browser.cookies.refreshToken;
    let owner = browser;
    for (let round = 0; round < 2; round += 1) {
      owner = Browser.with(stack, { refreshToken: owner.cookies.refreshToken });
      await owner.get("/me");
    }
    const thief = Browser.with(stack, { refreshToken: stolen });
    expect([(await thief.get("/me")).status, thief.cookies]).toEqual([401, {}]);
    expect((await owner.get("/me")).status).toBe(401);
  });
});

describe("a session that was ended elsewhere while its access cookie lasts", () => {
  let lasting: Stack;
  let ended: Browser;

  beforeAll(async () => {
    lasting = await startStack({ mongodbUrl: stack.mongodbUrl, dataDir: stack.dataDir });
    const admin = await asAdmin(lasting);
    const rule = { role: null, table: "notes", isEnabled: true };
    for (const action of ["read", "create"])
      expect((await admin.post("/svc_permission", { ...rule, action })).status).toBe(201);
  });

  // Not the whole stack: its database is the other one's.
  afterAll(async () => {
    await lasting?.gateway.stop();
    await lasting?.dataService.stop();
  });

  beforeEach(async () => {
    [ended, browser] = [new Browser(lasting), new Browser(lasting)];
    await ended.logIn(lasting.admin);
    const mine = (await ended.get("/me/sessions")).body.data.find(
      (each: { current: boolean }) => each.current,
    );
    await browser.logIn(lasting.admin);
    expect((await browser.send("DELETE", `/me/sessions/${mine.id}`)).status).toBe(200);
  });

  it.each(["/notes", "/me/permissions", "/healthy-or-not"])(
    "clears the cookies, and asks as anybody may: %s",
    async (path) => {
      const visitor = await new Browser(lasting).get(path);
      const answer = await ended.get(path);
      const { timestamp: _at, correlationId: _id, ...error } = answer.body.error ?? {};
      expect([answer.status, answer.body.data]).toEqual([visitor.status, visitor.body.data]);
      expect(visitor.body.error ?? {}).toMatchObject(error);
      expect(setCookies(answer).map((line) => [line.name, isClearing(line)])).toEqual(
        NAMES.map((name) => [name, true]),
      );
    },
  );

  it("is 401 for what is not for visitors, and the cookies are cleared all the same", async () => {
    const answer = await ended.get("/me");
    expect([answer.status, answer.body.error.code, ended.cookies]).toEqual([401, "UNAUTHORIZED", {}]);
  });

  it("is 401 once for a body, and the next try is a visitor's", async () => {
    const { headers, status, body } = await ended.post("/notes", { text: "late" });
    expect([status, body.error.code, setCookies({ headers }).every(isClearing)]).toEqual([
      ...[401, "INVALID_TOKEN", true],
    ]);
    expect((await ended.post("/notes", { text: "late" })).status).toBe(201);
  });

  it("leaves the browser alone whose session goes on", async () => {
    expect((await browser.get("/me")).status).toBe(200);
    expect(Object.keys(browser.cookies)).toEqual(NAMES);
  });
});

describe("cookies that can't be believed", () => {
  /** Sends this Cookie header as it stands. */
  const withCookie = (header: string): Api => apiOf(`${stack.appUrl}/api`, { Cookie: header });

  it.each(["accessToken", "refreshToken"])(
    "are two of the name %s: the request is anonymous",
    async (name) => {
      const header = `${browser.cookieHeader}; ${name}=${browser.cookies[name]}`;
      expect((await withCookie(header).get("/me")).status).toBe(401);
    },
  );

  it.each([
    ["an object in disguise", 'accessToken=j:{"$ne":null}; refreshToken=j:{"$ne":null}'],
    ["an encoded object in disguise", "refreshToken=j%3A%7B%22%24ne%22%3Anull%7D"],
    ["a quoted value", 'accessToken="x"; refreshToken="y"'],
    ["an old-style header", '$Version=1; accessToken="x"; refreshToken=y'],
  ])("are %s: the request is anonymous", async (_name, header) => {
    const { status, body } = await withCookie(header).get("/me");
    expect([status, body.error.code]).toEqual([401, "UNAUTHORIZED"]);
  });

  it("are believed again as soon as there is one of each", async () => {
    expect((await withCookie(browser.cookieHeader).get("/me")).status).toBe(200);
  });

  it("are read in the prefixed spelling too", async () => {
    const header = `__Host-accessToken=${browser.cookies.accessToken}`;
    expect((await withCookie(header).get("/me")).status).toBe(200);
  });

  it("are those with the right name in another case or with blanks around it", async () => {
    const token = browser.cookies.accessToken;
    for (const name of ["accesstoken", "AccessToken", "\u00a0accessToken"]) {
      const header = Buffer.from(`${name}=${token}`, "utf8").toString("latin1");
      expect((await withCookie(header).get("/me")).status).toBe(401);
    }
  });

  it("are all of them for the data service, which reads none", async () => {
    const inside = apiOf(stack.dataUrl, { Cookie: browser.cookieHeader });
    expect((await inside.get("/me")).status).toBe(401);
  });
});

describe("POST /logout", () => {
  it("ends the session, clears the cookies, and is 200 again and again", async () => {
    const stolen = browser.cookies;
    const answer = await browser.post("/logout");
    expect([answer.status, answer.body]).toEqual([200, { statusCode: 200, message: "Success" }]);
    expect(setCookies(answer).map((line) => [line.name, isClearing(line)])).toEqual(
      NAMES.map((name) => [name, true]),
    );
    expect((await Browser.with(stack, stolen).get("/me")).status).toBe(401);
    expect((await Browser.with(stack, { refreshToken: stolen.refreshToken }).get("/me")).status).toBe(401);
    expect((await Browser.with(stack, stolen).post("/logout")).status).toBe(200);
    expect((await new Browser(stack).post("/logout")).status).toBe(200);
  });

  it("works after the access cookie has expired", async () => {
    await accessExpiry();
    const { refreshToken } = browser.cookies;
    expect((await browser.post("/logout")).status).toBe(200);
    expect((await Browser.with(stack, { refreshToken }).get("/me")).status).toBe(401);
  });

  it("ends the session of the access cookie as well, where the refresh cookie names none or another", async () => {
    const { accessToken, refreshToken } = browser.cookies;
    expect(
      (await Browser.with(stack, { accessToken, refreshToken: "svc_rt_x" }).post("/logout")).status,
    ).toBe(200);
    expect((await Browser.with(stack, { refreshToken }).get("/me")).status).toBe(401);
    const [one, other] = [new Browser(stack), new Browser(stack)];
    for (const each of [one, other]) await each.logIn(stack.admin);
    const mixed = { accessToken: one.cookies.accessToken, refreshToken: other.cookies.refreshToken };
    expect((await Browser.with(stack, mixed).post("/logout")).status).toBe(200);
    for (const each of [one, other]) expect((await each.get("/me")).status).toBe(401);
  });

  it.each(["expTime=1; expTime=2", 'expTime="a b"', "accessToken=x", "refreshToken=x"])(
    "ends the session where %s is planted beside its cookies",
    async (planted) => {
      const headers = { Cookie: `${browser.cookieHeader}; ${planted}`, Origin: stack.appUrl };
      const answer = await apiOf(`${stack.appUrl}/api`, headers).send("POST", "/logout");
      expect([answer.status, setCookies(answer).every(isClearing)]).toEqual([200, true]);
      for (const name of ["accessToken", "refreshToken"]) {
        const left = Browser.with(stack, { [name]: browser.cookies[name] });
        expect((await left.get("/me")).status).toBe(401);
      }
    },
  );

  it("ends the session of a Bearer header", async () => {
    const token = browser.cookies.accessToken ?? "";
    const api = apiOf(`${stack.appUrl}/api`, { Authorization: `Bearer ${token}` });
    expect((await api.send("POST", "/logout")).status).toBe(200);
    expect((await api.get("/me")).status).toBe(401);
    const again = await api.send("POST", "/logout");
    expect([again.status, again.body.error.code, again.headers.get("www-authenticate")]).toEqual([
      401,
      "INVALID_TOKEN",
      'Bearer error="invalid_token"',
    ]);
  });
});

describe("logging in again", () => {
  it("gives a new session and ends the one the browser had", async () => {
    const former = browser.cookies;
    await browser.logIn(stack.admin);
    expect(browser.cookies.refreshToken).not.toBe(former.refreshToken);
    expect((await Browser.with(stack, { refreshToken: former.refreshToken }).get("/me")).status).toBe(401);
    expect((await browser.get("/me")).status).toBe(200);
  });

  it("ends the session of the access cookie as well, where the refresh cookie names none or is gone", async () => {
    for (const refreshToken of ["svc_rt_x", undefined]) {
      const former = new Browser(stack);
      await former.logIn(stack.admin);
      await Browser.with(stack, { ...former.cookies, refreshToken }).logIn(stack.admin);
      expect((await former.get("/me")).status).toBe(401);
    }
  });

  it("takes no session id from the browser", async () => {
    const jar = Browser.with(stack, { accessToken: "known", refreshToken: "known", sid: "known" });
    const lines = setCookies(await jar.logIn(stack.admin));
    expect(lines.map(({ value }) => value)).not.toContain("known");
  });
});
