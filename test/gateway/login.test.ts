// Sign-in and sign-out through the gateway: cookies, bodies, and who may ask.
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { sendRaw, statuses } from "./support/raw-http.js";
import { APP_URL, cookies, OTHER_ORIGIN, type Rig, readError, startRig } from "./support/rig.js";
import { accessToken, grants, refusal } from "./support/tokens.js";
import { foreignJson, html } from "./support/upstream.js";

const CREDENTIALS = { email: "ann@example.com", password: "correct horse" };

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
  rig.upstream.on("POST /auth/login", grants(accessToken({ origin: APP_URL }), "svc_rt_new"));
});
afterEach(() => rig.upstream.forget());
afterAll(() => rig.stop());

function logIn(headers: Record<string, string> = {}, body: unknown = CREDENTIALS): Promise<Response> {
  return rig.call("/api/login", {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

describe("POST /api/login", () => {
  it("sets three cookies and shows no token to scripts", async () => {
    const response = await logIn();
    expect(response.status).toBe(200);
    const body = await response.text();
    expect(JSON.parse(body)).toEqual({
      statusCode: 200,
      message: "Success",
      expTime: expect.any(Number),
      refreshExpTime: expect.any(Number),
      loginProvider: null,
    });
    expect(body).not.toMatch(/eyJ|svc_rt_/);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^accessToken=eyJ[\w.-]+; Max-Age=\d+; Path=\/; Expires=[^;]+; HttpOnly; Priority=High; SameSite=Lax$/,
      ),
      expect.stringMatching(
        /^refreshToken=svc_rt_new; Max-Age=\d+; Path=\/; Expires=[^;]+; HttpOnly; Priority=High; SameSite=Lax$/,
      ),
      expect.stringMatching(
        /^expTime=\d{13}; Max-Age=\d+; Path=\/; Expires=[^;]+; HttpOnly; Priority=High; SameSite=Lax$/,
      ),
    ]);
  });

  it("sets __Host- cookies with Secure when the app lives on https", async () => {
    const secure = await startRig({ APP_URL: "https://app.example.com" });
    secure.upstream.on("POST /auth/login", grants(accessToken(), "svc_rt_new"));
    const response = await secure.call("/api/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(CREDENTIALS),
    });
    const lines = response.headers.getSetCookie();
    expect(lines.map((line) => line.split("=")[0])).toEqual([
      "__Host-accessToken",
      "__Host-refreshToken",
      "__Host-expTime",
    ]);
    for (const line of lines)
      expect(line).toMatch(/; Path=\/; .*; HttpOnly; Secure; Priority=High; SameSite=Lax$/);
    expect(response.headers.get("strict-transport-security")).toBe("max-age=31536000; includeSubDomains");
    await secure.stop();
  });

  it("forwards the body, the browser's origin and the client, and no header of the client's choosing", async () => {
    await logIn({
      Origin: OTHER_ORIGIN,
      "User-Agent": "a browser",
      "X-Forwarded-For": "6.6.6.6",
      "X-Portico-Origin": "https://evil.example",
      Authorization: "Bearer whatever",
    });
    const { headers, body } = rig.upstream.last();
    expect(JSON.parse(body.toString())).toEqual(CREDENTIALS);
    expect(headers["x-portico-origin"]).toBe(OTHER_ORIGIN);
    expect(headers["user-agent"]).toBe("a browser");
    expect(headers["x-forwarded-for"]).toBe("127.0.0.1");
    expect(headers.authorization).toBeUndefined();
  });

  it("makes the session for the app's own origin when a browser names none, and for none without a browser", async () => {
    await logIn({ "Sec-Fetch-Site": "same-origin" });
    expect(rig.upstream.last().headers["x-portico-origin"]).toBe(APP_URL);
    await logIn();
    // Node's fetch is a browser by its headers only where it says so.
    expect(rig.upstream.last().headers["x-portico-origin"]).toBeUndefined();
  });

  it("ends the session that the jar had before", async () => {
    rig.upstream.on("POST /auth/logout", (_arrived, response) => response.end("{}"));
    await logIn({ Cookie: cookies({ refreshToken: "svc_rt_planted" }) });
    const logout = rig.upstream.arrived.find(({ url }) => url === "/auth/logout");
    expect(logout?.body.toString()).toBe('{"refreshToken":"svc_rt_planted"}');
  });

  it("ends the sessions of doubled cookies that the jar had before", async () => {
    rig.upstream.on("POST /auth/logout", (_arrived, response) => response.end("{}"));
    const response = await logIn({ Cookie: "refreshToken=svc_rt_planted; refreshToken=svc_rt_former" });
    expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3]);
    const ended = rig.upstream.arrived.filter(({ url }) => url === "/auth/logout");
    expect(ended.map(({ body }) => body.toString())).toEqual(
      ["planted", "former"].map((each) => `{"refreshToken":"svc_rt_${each}"}`),
    );
  });

  it.each([401, 500])("succeeds although the former session can't be ended (%i)", async (status) => {
    rig.upstream.on("POST /auth/logout", (_arrived, response) => response.writeHead(status).end("{}"));
    const response = await logIn({ Cookie: cookies({ refreshToken: "svc_rt_former" }) });
    expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3]);
  });

  it("does not wait long for the end of the former session, which goes on", async () => {
    rig.upstream.on("POST /auth/logout", () => {});
    const begun = performance.now();
    const response = await logIn({ Cookie: cookies({ refreshToken: "svc_rt_former" }) });
    expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3]);
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(rig.upstream.heads).toContain("POST /auth/logout");
  });

  it("that is refused leaves the former session alone", async () => {
    rig.upstream.on("POST /auth/login", refusal(401, "INVALID_CREDENTIALS", "Wrong."));
    expect((await logIn({ Cookie: cookies({ refreshToken: "svc_rt_former" }) })).status).toBe(401);
    rig.upstream.on("POST /auth/login", grants(accessToken({ origin: APP_URL }), "svc_rt_new"));
    expect(rig.upstream.arrived.map(({ url }) => url)).toEqual(["/auth/login"]);
  });

  it.each([
    ["a foreign site", { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.com" }],
    ["a sibling site", { "Sec-Fetch-Site": "same-site" }],
    ["a foreign origin alone", { Origin: "https://evil.com" }],
    ["the null origin", { Origin: "null" }],
    ["a look-alike origin", { Origin: `${OTHER_ORIGIN}.evil.com` }],
    ["two origins in one header", { Origin: `${OTHER_ORIGIN}, https://evil.com` }],
  ])("refuses %s with 403 and sets nothing", async (_who, headers) => {
    const response = await logIn(headers);
    expect(response.status).toBe(403);
    expect((await readError(response)).error.path).toBe("/api/login");
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(rig.upstream.arrived).toEqual([]);
  });

  it.each([
    [
      '{"email":"a@example.com","password":"x","password":"y"}',
      "password: is given twice in one object; only one would count",
    ],
    [`{"email":${"[".repeat(101)}${"]".repeat(101)}}`, "body: nests deeper than 100 levels"],
  ])("refuses %.60s", async (body, message) => {
    const refused = await logIn({}, body);
    expect([refused.status, (await readError(refused)).message]).toEqual([400, message]);
    expect(rig.upstream.arrived).toEqual([]);
  });

  it.each([
    ["null", "null"],
    ["", "{}"],
  ])("leaves it to the data service what is wrong with the body %j", async (body, passed) => {
    await logIn({}, body);
    expect(rig.upstream.last().body.toString()).toBe(passed);
  });

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=latin1",
  ])("refuses JSON sent as %s with 415", async (type) => {
    const response = await logIn({ "Content-Type": type });
    expect(response.status).toBe(415);
    expect((await readError(response)).error.code).toBe("UNSUPPORTED_MEDIA_TYPE");
    expect(rig.upstream.arrived).toEqual([]);
  });

  it("refuses a body that is announced as too large before it comes", async () => {
    const head = ["POST /api/login HTTP/1.1", "Host: a", "Content-Type: application/json"];
    const large = [...head, "Content-Length: 200000000", "", "{"].join("\r\n");
    expect(statuses(await sendRaw(rig.url, large))).toEqual([413]);
  });

  it("refuses malformed JSON with 400 and a body over 16 KB with 413", async () => {
    const malformed = await logIn({}, '{"email":');
    expect(malformed.status).toBe(400);
    expect((await readError(malformed)).message).toBe("The body is not valid JSON in UTF-8.");
    const large = await logIn({}, { ...CREDENTIALS, password: "x".repeat(17_000) });
    expect(large.status).toBe(413);
    expect(rig.upstream.arrived).toEqual([]);
  });

  it("answers other methods with 405 and Allow", async () => {
    const response = await rig.call("/api/login");
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST, OPTIONS");
    expect((await readError(response)).error.code).toBe("METHOD_NOT_ALLOWED");
  });

  it("ignores a trailing slash", async () => {
    const response = await rig.call("/api/login/", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(CREDENTIALS),
    });
    expect(response.status).toBe(200);
  });
});

describe("POST /api/login when the data service refuses", () => {
  let refusing: Rig;
  beforeAll(async () => {
    refusing = await startRig();
  });
  afterAll(() => refusing.stop());

  const tryLogin = (): Promise<Response> =>
    refusing.call("/api/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Correlation-ID": "login-1" },
      body: "{}",
    });

  it("passes the refusal on under the path the client called", async () => {
    const violations = ["email: is required", "password: is required"];
    refusing.upstream.on("POST /auth/login", refusal(400, "VALIDATION_ERROR", violations));
    const response = await tryLogin();
    expect(response.status).toBe(400);
    const body = await readError(response);
    expect(body.message).toEqual(violations);
    expect(body.error).toMatchObject({
      code: "VALIDATION_ERROR",
      path: "/api/login",
      method: "POST",
      correlationId: "login-1",
    });
    expect(refusing.upstream.last().headers["x-correlation-id"]).toBe("login-1");
  });

  it("passes a wrong password on as 401 and sets no cookies", async () => {
    refusing.upstream.on(
      "POST /auth/login",
      refusal(401, "INVALID_CREDENTIALS", "E-mail or password is wrong."),
    );
    const response = await tryLogin();
    expect(response.status).toBe(401);
    expect((await readError(response)).error.code).toBe("INVALID_CREDENTIALS");
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("answers 503, and when to try again, when something in front of the data service says so", async () => {
    refusing.upstream.on("POST /auth/login", (_arrived, response) =>
      response.writeHead(503, { "Retry-After": "7" }).end("<html>busy</html>"),
    );
    const response = await tryLogin();
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "7"]);
  });

  it("answers 502 when the data service makes no sense", async () => {
    refusing.upstream.on("POST /auth/login", (_arrived, response) =>
      response.end("<html>secret host</html>"),
    );
    const response = await tryLogin();
    expect(response.status).toBe(502);
    expect(JSON.stringify(await readError(response))).not.toContain("secret");
  });

  it("answers 502, not 500, when a token does not fit into a cookie", async () => {
    refusing.upstream.on("POST /auth/login", grants(accessToken({ name: "x".repeat(5_000) }), "svc_rt_1"));
    const response = await tryLogin();
    expect(response.status).toBe(502);
    expect((await readError(response)).message).toMatch(/accessToken does not fit into a cookie/);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("refuses a compressed body, and says so", async () => {
    const response = await refusing.call("/api/login", {
      method: "POST",
      body: gzipSync("{}"),
      headers: { "Content-Type": "application/json", "Content-Encoding": "gzip" },
    });
    const { statusCode, message } = await readError(response);
    expect([statusCode, message]).toEqual([415, "Send the body uncompressed, without Content-Encoding."]);
  });

  it("answers 502 when the data service is down", async () => {
    await refusing.upstream.close();
    const response = await tryLogin();
    expect(response.status).toBe(502);
    expect((await readError(response)).error.code).toBe("BAD_GATEWAY");
  });
});

it.each(["login", "logout"])(
  "POST /api/%s is 504 when the data service does not answer in time",
  async (call) => {
    const waiting = await startRig({}, { authTimeoutMs: 200 });
    try {
      waiting.upstream.on(`POST /auth/${call}`, () => {});
      const response = await waiting.call(`/api/${call}`, {
        method: "POST",
        body: JSON.stringify({ email: "a@b.example", password: "long enough" }),
        headers: { "Content-Type": "application/json", Cookie: cookies({ refreshToken: "svc_rt_1" }) },
      });
      const { message, error } = await readError(response);
      expect([message, error.code]).toEqual(["The data service did not answer in time.", "QUERY_TIMEOUT"]);
      expect([response.status, response.headers.getSetCookie()]).toEqual([504, []]);
    } finally {
      await waiting.stop();
    }
  },
);

describe("POST /api/logout", () => {
  beforeEach(() => {
    rig.upstream.on("POST /auth/logout", (_arrived, response) => {
      response.setHeader("Content-Type", "application/json");
      response.end('{"statusCode":200,"message":"Success"}');
    });
  });
  const logOut = (headers: Record<string, string> = {}): Promise<Response> =>
    rig.call("/api/logout", { method: "POST", headers });

  it("ends the sessions that the cookies name and clears the cookies", async () => {
    const token = accessToken();
    const response = await logOut({ Cookie: cookies({ accessToken: token, refreshToken: "svc_rt_1" }) });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ statusCode: 200, message: "Success" });
    expect(rig.upstream.last().headers.authorization).toBe(`Bearer ${token}`);
    expect(rig.upstream.last().body.toString()).toBe('{"refreshToken":"svc_rt_1"}');
    expect(response.headers.getSetCookie()).toEqual(
      ["accessToken", "refreshToken", "expTime"].map((name) =>
        expect.stringMatching(
          RegExp(`^${name}=; Max-Age=0; Path=/; Expires=[^;]+; HttpOnly; Priority=High; SameSite=Lax$`),
        ),
      ),
    );
  });

  it("clears the other spelling too when the request carries it", async () => {
    const response = await logOut({ Cookie: cookies({ "__Host-refreshToken": "svc_rt_1" }) });
    expect(response.headers.getSetCookie().filter((line) => line.includes("Secure"))).toEqual([
      expect.stringMatching(/^__Host-refreshToken=; .*Secure/),
    ]);
  });

  it("answers 200 again and again, without any session", async () => {
    expect((await logOut()).status).toBe(200);
    expect((await logOut()).status).toBe(200);
    expect(rig.upstream.arrived).toEqual([]);
  });

  it("ends the session of a Bearer token and ignores cookies then", async () => {
    const response = await logOut({
      Authorization: "Bearer abc",
      Cookie: cookies({ refreshToken: "svc_rt_1" }),
    });
    expect(response.status).toBe(200);
    expect(rig.upstream.last().headers.authorization).toBe("Bearer abc");
    expect(rig.upstream.last().body.toString()).toBe("{}");
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("passes on what is wrong with a Bearer token, and clears nothing", async () => {
    for (const [status, code] of [
      [401, "TOKEN_EXPIRED"],
      [401, "INVALID_TOKEN"],
    ] as const) {
      rig.upstream.on("POST /auth/logout", refusal(status, code, "no"));
      const response = await logOut({
        Authorization: "Bearer abc",
        Cookie: cookies({ refreshToken: "svc_rt_1" }),
      });
      expect(response.status).toBe(status);
      expect((await readError(response)).error.code).toBe(code);
      expect(response.headers.getSetCookie()).toEqual([]);
    }
  });

  it("answers 200 and clears cookies that name no session any more", async () => {
    for (const code of ["INVALID_TOKEN", "TOKEN_EXPIRED"] as const) {
      rig.upstream.on("POST /auth/logout", refusal(401, code, "no"));
      for (const jar of [{ accessToken: accessToken() }, { refreshToken: "svc_rt_1" }]) {
        const response = await logOut({ Cookie: cookies(jar) });
        expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3]);
      }
    }
  });

  it("ends the session of the refresh cookie alone where the access cookie is no longer good", async () => {
    rig.upstream.on("POST /auth/logout", ({ headers }, response, request) => {
      if (headers.authorization === undefined) response.end('{"statusCode":200,"message":"Success"}');
      else refusal(401, "TOKEN_EXPIRED", "no")(rig.upstream.last(), response, request);
    });
    const response = await logOut({
      Cookie: cookies({ accessToken: accessToken(), refreshToken: "svc_rt_1" }),
    });
    expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3]);
    expect(rig.upstream.last().headers.authorization).toBeUndefined();
    expect(rig.upstream.last().body.toString()).toBe('{"refreshToken":"svc_rt_1"}');
  });

  it.each(["expTime=1; expTime=2", 'expTime="a b"', "accessToken=x; refreshToken=svc_rt_x"])(
    "ends every session that cookies name which count for nothing: %s",
    async (planted) => {
      const token = accessToken();
      const own = cookies({ accessToken: token, refreshToken: "svc_rt_1" });
      const response = await logOut({ Cookie: `${planted}; ${own}` });
      expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3]);
      const named = rig.upstream.arrived.map(({ headers, body }) => headers.authorization ?? body.toString());
      expect(named).toEqual(expect.arrayContaining([`Bearer ${token}`, '{"refreshToken":"svc_rt_1"}']));
      expect(named.length).toBe(planted.startsWith("accessToken") ? 4 : 2);
    },
  );

  it("clears the cookies that a sign-in has just set although one for another path, which it came with, stayed", async () => {
    rig.upstream.on("POST /auth/logout", (_arrived, response) => response.end('{"statusCode":200}'));
    expect((await logIn({ Cookie: "refreshToken=svc_rt_stays" })).status).toBe(200);
    const response = await logOut({ Cookie: "refreshToken=svc_rt_stays; refreshToken=svc_rt_new" });
    expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3]);
  });

  it("ends the sessions of its own page where doubled cookies name others as well", async () => {
    const success = '{"statusCode":200,"message":"Success"}';
    rig.upstream.on("POST /auth/logout", ({ body }, response, request) => {
      if (body.toString().includes("svc_rt_own")) response.end(success);
      else refusal(403, "FORBIDDEN", "Begun elsewhere.")(rig.upstream.last(), response, request);
    });
    const logOutWith = (...tokens: readonly string[]): Promise<Response> =>
      logOut({ Origin: APP_URL, Cookie: tokens.map((token) => `refreshToken=${token}`).join("; ") });
    expect((await logOutWith("svc_rt_a", "svc_rt_own", "svc_rt_b")).status).toBe(200);
    // Those live on, so that their renewals reach the browser: it would come with a token that was used before.
    rig.upstream.on("POST /auth/refresh-token", grants(accessToken({ origin: APP_URL }), "svc_rt_next"));
    for (const [token, lines] of [
      ["svc_rt_a", 3],
      ["svc_rt_own", 0],
    ] as const) {
      const renewed = await rig.call("/api/me", { headers: { Cookie: cookies({ refreshToken: token }) } });
      expect([token, renewed.headers.getSetCookie().length]).toEqual([token, lines]);
    }
    const refused = await logOutWith("svc_rt_a", "svc_rt_b");
    expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []]);
    rig.upstream.on("POST /auth/logout", ({ body }, response, request) => {
      if (body.toString().includes("svc_rt_own")) response.end(success);
      else refusal(503, "SERVICE_UNAVAILABLE", "Later.")(rig.upstream.last(), response, request);
    });
    const failed = await logOutWith("svc_rt_a", "svc_rt_own");
    expect([failed.status, failed.headers.getSetCookie()]).toEqual([503, []]);
  });

  it("passes on that the session of a refresh token was made for another page, and keeps the cookies", async () => {
    rig.upstream.on("POST /auth/logout", refusal(403, "FORBIDDEN", "Begun elsewhere."));
    const response = await logOut({ Cookie: cookies({ refreshToken: "svc_rt_1" }), Origin: APP_URL });
    expect([response.status, (await readError(response)).message]).toEqual([403, "Begun elsewhere."]);
    expect(response.headers.getSetCookie()).toEqual([]);
    const [arrived] = rig.upstream.arrived;
    expect(arrived?.headers["x-portico-origin"]).toBe(APP_URL);
  });

  it("answers 502 and keeps the cookies when the data service fails", async () => {
    rig.upstream.on("POST /auth/logout", (_arrived, response) => response.writeHead(500).end());
    const response = await logOut({ Cookie: cookies({ refreshToken: "svc_rt_1" }) });
    expect([response.status, response.headers.getSetCookie()]).toEqual([502, []]);
  });

  it("answers 503 and keeps the cookies when the data service has too much to do", async () => {
    rig.upstream.on("POST /auth/logout", refusal(503, "SERVICE_UNAVAILABLE", "Later."));
    const response = await logOut({ Cookie: cookies({ refreshToken: "svc_rt_1" }) });
    expect([response.status, response.headers.getSetCookie()]).toEqual([503, []]);
  });

  it.each([200, 400, 401, 403])(
    "answers 502 and keeps the cookies when a %s is no word of the data service",
    async (status) => {
      for (const answer of [html(status), foreignJson(status)]) {
        rig.upstream.on("POST /auth/logout", answer);
        for (const jar of [{ accessToken: accessToken() }, { refreshToken: "svc_rt_1" }]) {
          const response = await logOut({ Cookie: cookies(jar) });
          expect([response.status, response.headers.getSetCookie()]).toEqual([502, []]);
        }
        expect((await logOut({ Authorization: "Bearer abc" })).status).toBe(502);
      }
    },
  );

  it("refuses several Authorization headers with 401", async () => {
    const { host } = new URL(rig.url);
    const received = await sendRaw(
      rig.url,
      `POST /api/logout HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(received).toMatch(
      /^HTTP\/1\.1 401 .*^WWW-Authenticate: Bearer error="invalid_request".*"INVALID_TOKEN"/ms,
    );
    expect(rig.upstream.arrived).toEqual([]);
  });

  it("refuses GET with 405, and the session lives on", async () => {
    const response = await rig.call("/api/logout", {
      headers: { Cookie: cookies({ refreshToken: "svc_rt_1" }) },
    });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST, OPTIONS");
    expect(rig.upstream.arrived).toEqual([]);
  });

  it("refuses a page of another origin than the session's", async () => {
    const Cookie = cookies({ accessToken: accessToken({ origin: APP_URL }), refreshToken: "svc_rt_1" });
    const response = await logOut({ Cookie, Origin: OTHER_ORIGIN });
    expect(response.status).toBe(403);
    expect((await readError(response)).message).toBe(
      `Requests from the origin ${OTHER_ORIGIN} are refused here; this session was begun on ${APP_URL}.`,
    );
    expect(rig.upstream.arrived).toEqual([]);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("refuses a form body", async () => {
    const response = await rig.call("/api/logout", {
      method: "POST",
      headers: { "Content-Type": "text/plain", Cookie: cookies({ refreshToken: "svc_rt_1" }) },
      body: "x=1",
    });
    expect(response.status).toBe(415);
  });
});

describe("GET /api/auth/set-cookies when the data service refuses", () => {
  const arrive = (redirect: Record<string, string>): Promise<Response> =>
    rig.call(`/api/auth/set-cookies?${new URLSearchParams({ code: "c".repeat(43), ...redirect })}`);
  const refuse = (status: number, code: string): void =>
    rig.upstream.on("POST /internal/oauth/redeem", refusal(status, code, "no"));

  it.each([
    [429, "TOO_MANY_REQUESTS"],
    [500, "INTERNAL_ERROR"],
    [503, "SERVICE_UNAVAILABLE"],
    [504, "QUERY_TIMEOUT"],
  ])("for the moment (%i), the person is back at the app, which can begin anew", async (status, code) => {
    refuse(status, code);
    const response = await arrive({ redirect: `${APP_URL}/after` });
    expect([response.status, response.headers.get("location")]).toEqual([
      302,
      `${APP_URL}/after?error=provider_unavailable`,
    ]);
    expect(response.headers.getSetCookie()).toEqual([]);
    // Where the address does not say which app it is, only the flow knew.
    expect((await arrive({})).status).toBe(status);
  });

  it("for good, the person is told", async () => {
    refuse(403, "FORBIDDEN");
    expect((await arrive({ redirect: `${APP_URL}/after` })).status).toBe(403);
  });
});

describe("GET /api/auth/providers", () => {
  it("names no provider, whatever the Authorization header says", async () => {
    const response = await rig.call("/api/auth/providers", { headers: { Authorization: "Bearer nonsense" } });
    expect(await response.json()).toEqual({ statusCode: 200, message: "Success", data: [] });
    expect(rig.upstream.arrived).toEqual([]);
  });
});

describe("a POST that stands for a QUERY", () => {
  let linking: Rig;
  beforeAll(async () => {
    linking = await startRig({ OAUTH_DEV_PROVIDER: "on" });
  });
  afterEach(() => linking.upstream.forget());
  afterAll(() => linking.stop());
  const query = (path: string): Promise<Response> =>
    linking.call(path, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-HTTP-Method-Override": "QUERY",
        Cookie: cookies({ accessToken: accessToken({ origin: APP_URL }), refreshToken: "svc_rt_1" }),
      },
      body: JSON.stringify({ ...CREDENTIALS, redirect: `${APP_URL}/` }),
    });

  it.each([
    ["/api/login", "POST, OPTIONS"],
    ["/api/logout/", "POST, OPTIONS"],
    ["/api/auth/google/link", "POST, OPTIONS"],
    ["/api/auth/google", "GET"],
    ["/api/auth/providers", "GET, HEAD, OPTIONS"],
    ["/api/docs", "GET, HEAD, OPTIONS"],
  ])("is refused by a route of the gateway's own, and nothing is done: %s", async (path, allow) => {
    const response = await query(path);
    expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
    expect((await readError(response)).message).toMatch(/^QUERY is not allowed here, but /);
    expect([response.headers.getSetCookie(), linking.upstream.arrived]).toEqual([[], []]);
  });

  it.each(["/api/auth/login", "/api/posts"])("is passed on as it came where it is not: %s", async (path) => {
    linking.upstream.on(`POST ${path.slice(4)}`, refusal(405, "METHOD_NOT_ALLOWED", "No."));
    await query(path);
    const arrived = linking.upstream.arrived.map(({ method, headers }) => [
      method,
      headers["x-http-method-override"],
    ]);
    expect(arrived).toEqual([["POST", "QUERY"]]);
  });
});
