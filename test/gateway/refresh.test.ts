// The session of a request: cookies used, refreshed, refused, ignored.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import { BAD_TOKEN, ENDED_MEANWHILE } from "@portico/shared/bearer-token";
import { openSocket, statuses } from "./support/raw-http.js";
import { APP_URL, cookies, OTHER_ORIGIN, type Rig, readEcho, readError, startRig } from "./support/rig.js";
import { accessToken, grants, refusal, session } from "./support/tokens.js";
import { type Behaviour, foreignJson, html, json } from "./support/upstream.js";

let rig: Rig;
const rigs: Rig[] = [];
beforeEach(async () => {
  rig = await startRig();
  rigs.push(rig);
});
afterAll(() => Promise.all(rigs.map((each) => each.stop())));

const FRESH = accessToken({ name: "fresh", origin: APP_URL });
const refreshCalls = (): number =>
  rig.upstream.heads.filter((line) => line === "POST /auth/refresh-token").length;

function get(jar: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
  return rig.call("/api/me", { headers: { Cookie: cookies(jar), ...headers } });
}

function logOut(jar: Record<string, string>): Promise<Response> {
  return rig.call("/api/logout", { method: "POST", headers: { Cookie: cookies(jar) } });
}

describe("a valid access cookie", () => {
  it("goes upstream as a Bearer token, and no cookie does", async () => {
    const token = accessToken();
    const echo = await readEcho(await get({ accessToken: token, refreshToken: "svc_rt_1", theme: "dark" }));
    expect(echo.headers.authorization).toBe(`Bearer ${token}`);
    expect(echo.headers.cookie).toBeUndefined();
    expect(refreshCalls()).toBe(0);
  });

  it("is read in its __Host- spelling, which wins over a planted plain one", async () => {
    const [genuine, planted] = [accessToken({ name: "genuine" }), accessToken({ name: "planted" })];
    const echo = await readEcho(await get({ accessToken: planted, "__Host-accessToken": genuine }));
    expect(echo.headers.authorization).toBe(`Bearer ${genuine}`);
  });

  it("keeps the answer out of every cache unless the data service says otherwise", async () => {
    const jar = { accessToken: accessToken() };
    expect((await get(jar)).headers.get("cache-control")).toBe("no-store");
    rig.upstream.on("GET /me", (_arrived, response) => {
      response.setHeader("Cache-Control", "private, no-cache").end("{}");
    });
    expect((await get(jar)).headers.get("cache-control")).toBe("private, no-cache");
  });
});

describe("an access cookie that is missing, malformed or about to expire, with a refresh cookie", () => {
  it.each([
    ["missing", {}],
    ["empty", { accessToken: "" }],
    ["malformed", { accessToken: "not-a-jwt" }],
    ["expired", { accessToken: accessToken({ expiresIn: -5 }) }],
    ["within 30 s of expiry", { accessToken: accessToken({ expiresIn: 29 }) }],
  ])("refreshes first when it is %s", async (_state, jar) => {
    rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
    const response = await get({ ...jar, refreshToken: "svc_rt_1" });
    expect((await readEcho(response)).headers.authorization).toBe(`Bearer ${FRESH}`);
    expect(rig.upstream.arrived[0]?.body.toString()).toBe('{"refreshToken":"svc_rt_1"}');
    const set = response.headers.getSetCookie();
    expect(set.map((line) => line.split(";")[0])).toEqual([
      `accessToken=${FRESH}`,
      "refreshToken=svc_rt_2",
      expect.stringMatching(/^expTime=\d{13}$/),
    ]);
  });

  it("never lets an answer with new cookies be stored, whatever the data service says of it", async () => {
    rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
    rig.upstream.on("GET /me", (_arrived, response) => {
      response.setHeader("Cache-Control", "public, max-age=600").end("{}");
    });
    expect((await get({ refreshToken: "svc_rt_1" })).headers.get("cache-control")).toBe("no-store");
  });

  it("keeps what forbids more: nobody on the way may transform a stream, which would hold it back", async () => {
    rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
    rig.upstream.on("GET /me", (_arrived, response) => {
      response.setHeader("Cache-Control", "no-store, no-transform").end("{}");
    });
    const { headers } = await get({ refreshToken: "svc_rt_1" });
    expect(headers.getSetCookie()).not.toEqual([]);
    expect(headers.get("cache-control")).toBe("no-store, no-transform");
  });

  it("shares one refresh among parallel requests, and all get the same cookies", async () => {
    rig.upstream.on("POST /auth/refresh-token", (_arrived, response) => {
      setTimeout(() => response.end(JSON.stringify(session(FRESH, "svc_rt_2"))), 1_500);
    });
    const responses = await Promise.all(Array.from({ length: 50 }, () => get({ refreshToken: "svc_rt_1" })));
    expect(responses.every((response) => response.status === 200)).toBe(true);
    expect(refreshCalls()).toBe(1);
    const jars = new Set(responses.map((response) => response.headers.getSetCookie()[1]?.split(";")[0]));
    expect([...jars]).toEqual(["refreshToken=svc_rt_2"]);
  });

  it("does not share it between sessions", async () => {
    rig.upstream.on("POST /auth/refresh-token", ({ body }, response) => {
      const name = JSON.parse(body.toString()).refreshToken;
      setTimeout(() => response.end(JSON.stringify(session(accessToken({ name }), `${name}.next`))), 50);
    });
    const [ann, bob] = await Promise.all([get({ refreshToken: "ann" }), get({ refreshToken: "bob" })]);
    expect(ann.headers.getSetCookie()[1]).toContain("ann.next");
    expect(bob.headers.getSetCookie()[1]).toContain("bob.next");
  });

  it("lets a token that lives only seconds be used for half its life", async () => {
    const jar = { accessToken: accessToken({ expiresIn: 4, lifetime: 6 }), refreshToken: "svc_rt_1" };
    expect((await get(jar)).status).toBe(200);
    expect(refreshCalls()).toBe(0);
  });

  it.each([
    [429, "TOO_MANY_REQUESTS"],
    [502, "BAD_GATEWAY"],
    [503, "SERVICE_UNAVAILABLE"],
    [504, "QUERY_TIMEOUT"],
  ])("goes on with a token that is still valid when the refresh is put off by a %i", async (status, code) => {
    rig.upstream.on("POST /auth/refresh-token", refusal(status, code, "Later."));
    const token = accessToken({ expiresIn: 20 });
    const response = await get({ accessToken: token, refreshToken: "svc_rt_1" });
    expect((await readEcho(response)).headers.authorization).toBe(`Bearer ${token}`);
    expect(response.headers.getSetCookie()).toEqual([]);
    const late = await get({ accessToken: accessToken({ expiresIn: -5 }), refreshToken: "svc_rt_1" });
    expect([late.status, late.headers.getSetCookie()]).toEqual([status, []]);
  });

  const LOSSES: readonly [string, Behaviour, Parameters<typeof startRig>[1]][] = [
    ["as the connection broke", (_arrived, response) => void response.destroy(), {}],
    ["behind a 502 of something in between", html(502), {}],
    ["behind a 503 of something in between", html(503), {}],
    ["behind a 504 of something in between", html(504), {}],
    ["or late", () => {}, { authTimeoutMs: 300 }],
  ];

  it.each(LOSSES)(
    "asks once more when the answer to a refresh is lost, %s, as it may be done",
    async (_how, loses, limits) => {
      const impatient = await startRig({}, limits);
      rigs.push(impatient);
      impatient.upstream.on("POST /auth/refresh-token", (...call) => {
        impatient.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
        loses(...call);
      });
      const jar = { accessToken: accessToken({ expiresIn: 20 }), refreshToken: "svc_rt_1" };
      const response = await impatient.call("/api/me", { headers: { Cookie: cookies(jar) } });
      expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3]);
    },
  );

  it.each<[string, Behaviour]>([
    ["the data service has too much to do", refusal(503, "SERVICE_UNAVAILABLE", "Later.")],
    ["something in between has refused it", html(403)],
    ["something in between limits how often", html(429)],
  ])("asks only once where nothing is lost: %s", async (_why, refuses) => {
    rig.upstream.on("POST /auth/refresh-token", refuses);
    await get({ refreshToken: "svc_rt_1" });
    expect(refreshCalls()).toBe(1);
  });

  it("has no patience left for a second answer that does not come either", async () => {
    const impatient = await startRig({}, { authTimeoutMs: 10_000 });
    rigs.push(impatient);
    const asked: number[] = [];
    impatient.upstream.on("POST /auth/refresh-token", (...call) => {
      asked.push(performance.now());
      // A 504 is the word for a time that is over.
      if (asked.length === 1) html(504)(...call);
    });
    const response = await impatient.call("/api/me", { headers: { Cookie: "refreshToken=svc_rt_1" } });
    expect([response.status, asked.length]).toEqual([504, 2]);
    expect(performance.now() - (asked[1] ?? 0)).toBeLessThan(8_000);
  });

  describe("brings the new cookies while the former token is still good, however slow the data service is", () => {
    const MOST_MS = 1_000;
    const AFTER_MS = 500;
    const LIMITS = { refreshedAnswerMs: MOST_MS, leastRefreshedAnswerMs: 100 };
    /** As the data service does that has just made it. */
    const grantsNew: Behaviour = (...call) => grants(accessToken({ name: "new" }), "svc_rt_2")(...call);
    let slow: Rig;
    beforeEach(async () => {
      slow = await startRig({}, LIMITS);
      rigs.push(slow);
      slow.upstream.on("POST /auth/refresh-token", (...call) => {
        setTimeout(() => grantsNew(...call), AFTER_MS);
      });
    });
    const send = (method: string, jar: Record<string, string> = { refreshToken: "svc_rt_1" }) =>
      slow.call("/api/posts", { method, headers: { Cookie: cookies(jar) } });
    const timed = async (answer: Promise<Response>): Promise<[Response, number]> => {
      const begun = performance.now();
      return [await answer, performance.now() - begun];
    };

    it.each([
      ["GET", undefined],
      ["DELETE", { uncertain: true }],
    ])("answers a %s with 504 and %j", async (method, details) => {
      slow.upstream.on(`${method} /posts`, () => {});
      const [response, tookMs] = await timed(send(method));
      expect([response.status, response.headers.getSetCookie().length]).toEqual([504, 3]);
      expect((await readError(response)).error.details).toEqual(details);
      expect(tookMs).toBeLessThan(10_000);
    });

    it("counts from the moment that the refresh was asked for, by whichever request", async () => {
      slow.upstream.on("GET /posts", (_arrived, response) => {
        setTimeout(() => response.end("{}"), 800);
      });
      const first = send("GET");
      await delay(400);
      const second = send("GET");
      expect([(await first).status, (await second).status]).toEqual([504, 504]);
    });

    describe("where the tokens had been made before, for an answer that was lost", () => {
      const LONG_AGO = accessToken({ expiresIn: 880, lifetime: 900 });

      it("counts from then", async () => {
        const repeating = await startRig({}, { refreshedAnswerMs: 20_000, leastRefreshedAnswerMs: 100 });
        rigs.push(repeating);
        slow = repeating;
        repeating.upstream.on("POST /auth/refresh-token", grants(LONG_AGO, "svc_rt_2"));
        repeating.upstream.on("GET /posts", () => {});
        const [response, tookMs] = await timed(send("GET"));
        expect([response.status, response.headers.getSetCookie().length]).toEqual([504, 3]);
        expect(tookMs).toBeLessThan(10_000);
      });

      it("leaves as much time as most answers take", async () => {
        slow = await startRig({}, { refreshedAnswerMs: 20_000 });
        rigs.push(slow);
        slow.upstream.on("POST /auth/refresh-token", grants(LONG_AGO, "svc_rt_2"));
        slow.upstream.on("GET /posts", (_arrived, response) => {
          setTimeout(() => response.end("{}"), 200);
        });
        expect((await send("GET")).status).toBe(200);
      });
    });

    it("lets an answer that has begun take its time", async () => {
      slow.upstream.on("GET /posts", (_arrived, response) => {
        response.write("begun ");
        setTimeout(() => response.end("ended"), MOST_MS);
      });
      const response = await send("GET");
      expect([response.headers.getSetCookie().length, await response.text()]).toEqual([3, "begun ended"]);
    });

    it("also where the token of the cookie was refused, though that took long as well", async () => {
      const old = accessToken();
      const patient = await startRig({}, { ...LIMITS, answerTimeoutMs: 900 });
      rigs.push(patient);
      slow = patient;
      patient.upstream.on("GET /posts", ({ headers }, ...call) => {
        if (headers.authorization !== `Bearer ${old}`) return;
        const answer = json(401, { error: { code: "INVALID_TOKEN" } }, BAD_TOKEN);
        setTimeout(() => answer(patient.upstream.last(), ...call), AFTER_MS);
      });
      patient.upstream.on("POST /auth/refresh-token", (...call) => {
        setTimeout(() => grantsNew(...call), AFTER_MS);
      });
      const [response, tookMs] = await timed(send("GET", { accessToken: old, refreshToken: "svc_rt_1" }));
      expect([response.status, response.headers.getSetCookie().length]).toEqual([504, 3]);
      expect(tookMs).toBeLessThan(10_000);
    });

    it.each(["GET /me/oauth-accounts", "POST /internal/oauth/start-flow"])(
      "also where a provider is to be connected, and %s takes long",
      async (line) => {
        const linking = await startRig({ OAUTH_DEV_PROVIDER: "on" }, LIMITS);
        rigs.push(linking);
        linking.upstream.on("POST /auth/refresh-token", grantsNew);
        linking.upstream.on("GET /me/oauth-accounts", json(200, { statusCode: 200, data: [] }));
        linking.upstream.on(line, () => {});
        const [response, tookMs] = await timed(
          linking.call("/api/auth/google/link", {
            method: "POST",
            headers: { "Content-Type": "application/json", Cookie: "refreshToken=svc_rt_1" },
            body: JSON.stringify({ redirect: `${APP_URL}/` }),
          }),
        );
        expect([response.status, response.headers.getSetCookie().length]).toEqual([504, 3]);
        expect(tookMs).toBeLessThan(10_000);
        expect(linking.upstream.heads).toContain(line);
      },
    );

    it("but gives a request that borrows its token as long as any other", async () => {
      slow.upstream.on("POST /internal/auth/lend-access-token", json(200, { accessToken: FRESH }));
      slow.upstream.on("POST /svc_file", (_arrived, response) => {
        setTimeout(() => response.end("stored"), 2 * MOST_MS);
      });
      const headers = { "Content-Type": "multipart/form-data; boundary=x", Cookie: "refreshToken=svc_rt_1" };
      expect((await slow.call("/api/svc_file", { method: "POST", body: "a file", headers })).status).toBe(
        200,
      );
    });
  });

  it("clears the cookies when the refresh is refused, and goes on as anonymous", async () => {
    rig.upstream.on("POST /auth/refresh-token", refusal(401, "INVALID_TOKEN", "The token is not valid."));
    const response = await get({ accessToken: accessToken({ expiresIn: -5 }), refreshToken: "svc_rt_old" });
    expect((await readEcho(response)).headers.authorization).toBeUndefined();
    const set = response.headers.getSetCookie();
    expect(set).toHaveLength(3);
    for (const line of set) expect(line).toMatch(/^\w+=; Max-Age=0; /);
  });

  it("clears none with a late answer, as the browser may have signed in anew meanwhile", async () => {
    rig.upstream.on("POST /auth/refresh-token", refusal(401, "INVALID_TOKEN", "The token is not valid."));
    rig.upstream.on("GET /me", (_arrived, response) => void setTimeout(() => response.end("{}"), 1_500));
    const response = await get({ refreshToken: "svc_rt_old" });
    expect([response.status, response.headers.getSetCookie()]).toEqual([200, []]);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("answers 502 and leaves the cookies alone when the data service can not be reached", async () => {
    await rig.upstream.close();
    const response = await get({ refreshToken: "svc_rt_1" });
    expect(response.status).toBe(502);
    expect((await readError(response)).error).toMatchObject({ code: "BAD_GATEWAY", path: "/api/me" });
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it.each([
    [503, "SERVICE_UNAVAILABLE"],
    [429, "TOO_MANY_REQUESTS"],
    [500, "INTERNAL_ERROR"],
  ])("leaves the cookies alone when the refresh fails with %s", async (status, code) => {
    rig.upstream.on("POST /auth/refresh-token", refusal(status, code, "Later."));
    const response = await get({ refreshToken: "svc_rt_1" });
    expect(response.status).toBe(status);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it.each<[string, Behaviour]>([
    ["400 page", html(400)],
    ["401 page", html(401)],
    ["400 in JSON", foreignJson(400)],
    ["401 in JSON", foreignJson(401)],
  ])("leaves the cookies alone when a %s is no word of the data service", async (_what, answer) => {
    rig.upstream.on("POST /auth/refresh-token", answer);
    const response = await get({ refreshToken: "svc_rt_1" });
    expect([response.status, response.headers.getSetCookie()]).toEqual([502, []]);
    expect(new Set(rig.upstream.heads)).toEqual(new Set(["POST /auth/refresh-token"]));
  });

  it("leaves the cookies alone when the data service refuses for another reason than the token", async () => {
    for (const [status, code] of [
      [400, "BAD_REQUEST"],
      [401, "UNAUTHORIZED"],
    ] as const) {
      rig.upstream.on("POST /auth/refresh-token", refusal(status, code, "no"));
      const response = await get({ refreshToken: "svc_rt_1" });
      expect([response.status, response.headers.getSetCookie()]).toEqual([status, []]);
    }
  });
});

describe("a request that left a browser before somebody signed in there anew, over its session", () => {
  const FORMER = { refreshToken: "svc_rt_former" };
  const refused = refusal(401, "INVALID_TOKEN", "The token is not valid.");

  const signInOver = (jar: Record<string, string>): Promise<Response> =>
    rig.call("/api/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", Cookie: cookies(jar) },
      body: JSON.stringify({ email: "ann@example.com", password: "her password" }),
    });

  beforeEach(() => {
    rig.upstream.on("POST /auth/login", grants(FRESH, "svc_rt_new"));
    rig.upstream.on("POST /auth/logout", json(200, { statusCode: 200 }));
  });

  it("is anonymous once that has ended, and leaves the new cookies alone", async () => {
    rig.upstream.on("POST /auth/refresh-token", refused);
    expect((await signInOver(FORMER)).headers.getSetCookie()).toHaveLength(3);
    const response = await get(FORMER);
    expect((await readEcho(response)).headers.authorization).toBeUndefined();
    expect(response.headers.getSetCookie()).toEqual([]);
    expect((await get({ refreshToken: "svc_rt_other" })).headers.getSetCookie()).toHaveLength(3);
  });

  it.each([
    ["with the cookie that it carries", grants(FRESH, "svc_rt_renewed"), FORMER],
    ["with the cookie that it renews", grants(FRESH, "svc_rt_renewed"), { refreshToken: "svc_rt_renewed" }],
    ["where its refresh was refused", refused, FORMER],
  ])("leaves the new cookies alone when it is answered after them: %s", async (_what, refresh, jar) => {
    rig.upstream.on("POST /auth/refresh-token", refresh);
    const asked = new Promise<() => void>((resolve) => {
      rig.upstream.on("GET /me", (_arrived, response) => resolve(() => void response.end("{}")));
    });
    const late = get(FORMER);
    const answer = await asked;
    expect((await signInOver(jar)).headers.getSetCookie()).toHaveLength(3);
    answer();
    const response = await late;
    expect([response.status, response.headers.getSetCookie()]).toEqual([200, []]);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("leaves the cookies of whoever signs in after a log-out alone when it is answered after them", async () => {
    rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_renewed"));
    const asked = new Promise<() => void>((resolve) => {
      rig.upstream.on("GET /me", (_arrived, response) => resolve(() => void response.end("{}")));
    });
    const late = get(FORMER);
    const answer = await asked;
    expect((await logOut(FORMER)).headers.getSetCookie()).toHaveLength(3);
    expect((await signInOver({})).headers.getSetCookie()).toHaveLength(3);
    answer();
    expect((await late).headers.getSetCookie()).toEqual([]);
  });

  it("leaves the new cookies alone when it is a log-out that takes longer", async () => {
    const asked = new Promise<() => void>((resolve) => {
      rig.upstream.on("POST /auth/logout", (_arrived, response) =>
        resolve(() => void response.end('{"statusCode":200}')),
      );
    });
    const late = logOut(FORMER);
    const answer = await asked;
    rig.upstream.on("POST /auth/logout", json(200, { statusCode: 200 }));
    expect((await signInOver(FORMER)).headers.getSetCookie()).toHaveLength(3);
    answer();
    const response = await late;
    expect([response.status, response.headers.getSetCookie()]).toEqual([200, []]);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });
});

it("a log-out that is sent again, as its answer was lost, clears the cookies as well", async () => {
  rig.upstream.on("POST /auth/logout", json(200, { statusCode: 200 }));
  for (const _attempt of [1, 2]) {
    expect((await logOut({ refreshToken: "svc_rt_1" })).headers.getSetCookie()).toHaveLength(3);
  }
});

describe("a fresh-looking access cookie that the data service believes no more", () => {
  const STALE = accessToken({ name: "stale", origin: APP_URL });
  const JAR = { accessToken: STALE, refreshToken: "svc_rt_1" };
  const CHALLENGE = { "WWW-Authenticate": 'Bearer error="invalid_token"' };
  const refuseToken = json(401, { error: { code: "INVALID_TOKEN" } }, CHALLENGE);
  const refuseRefresh = refusal(401, "INVALID_TOKEN", "The token is not valid.");

  /** Believes every token but the stale one. */
  const believeOthers = (line: string, headers: Record<string, string> = {}): void =>
    rig.upstream.on(line, (arrived, response, request) => {
      const { authorization = "none" } = arrived.headers;
      const answer =
        authorization === `Bearer ${STALE}` ? refuseToken : json(200, { authorization }, headers);
      answer(arrived, response, request);
    });
  const who = async (response: Response): Promise<string> =>
    ((await response.json()) as { authorization: string }).authorization;
  const send = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    rig.call(`/api${path}`, {
      method,
      headers: { Cookie: cookies(JAR), Origin: APP_URL, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const isCleared = (response: Response): boolean =>
    response.headers.getSetCookie().filter((line) => /^\w+=; Max-Age=0; /.test(line)).length === 3;

  beforeEach(() => {
    for (const line of [
      "GET /posts",
      "HEAD /posts",
      "DELETE /posts/1",
      "POST /posts",
      "POST /posts/1/restore",
    ])
      believeOthers(line, { "Cache-Control": "public, max-age=60", Vary: "Accept" });
  });

  it("was refused with whatever was asked: nothing may have been done where the refresh then fails", async () => {
    rig.upstream.on("POST /auth/refresh-token", (_arrived, response) => response.destroy());
    for (const [method, path] of [
      ["DELETE", "/posts/1"],
      ["POST", "/posts"],
    ] as const) {
      const response = await send(method, path, { "Content-Type": "application/json" }, "{}");
      expect([response.status, (await readError(response)).error.details]).toEqual([502, undefined]);
    }
  });

  it.each([
    ["GET", "/posts"],
    ["HEAD", "/posts"],
    ["DELETE", "/posts/1"],
    ["POST", "/posts/1/restore"],
  ])(
    "is cleared when nothing replaces it, and the request goes on as anonymous: %s",
    async (method, path) => {
      rig.upstream.on("POST /auth/refresh-token", refuseRefresh);
      const response = await send(method, path, { "X-Correlation-ID": "mine", "Accept-Language": "de" });
      expect([response.status, isCleared(response)]).toEqual([200, true]);
      if (method !== "HEAD") expect(await who(response)).toBe("none");
      expect(rig.upstream.heads).toEqual([
        `${method} ${path}`,
        "POST /auth/refresh-token",
        `${method} ${path}`,
      ]);
      const [first, refresh, second] = rig.upstream.arrived.map(({ headers }) => headers);
      expect([refresh?.["x-correlation-id"], refresh?.["x-forwarded-for"]]).toEqual(["mine", "127.0.0.1"]);
      const { authorization: _stale, ...others } = first ?? {};
      expect(second).toEqual(others);
    },
  );

  it("is cleared in the spelling that it came in as well", async () => {
    rig.upstream.on("POST /auth/refresh-token", refuseRefresh);
    const jar = { "__Host-accessToken": STALE, "__Host-refreshToken": "svc_rt_1" };
    const set = (await send("GET", "/posts", { Cookie: cookies(jar) })).headers.getSetCookie();
    expect(set.map((line) => line.split("=")[0])).toEqual([
      "accessToken",
      "refreshToken",
      "expTime",
      "__Host-accessToken",
      "__Host-refreshToken",
    ]);
  });

  it("is replaced where the refresh token is good, on that same answer, which no cache may keep", async () => {
    rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
    const response = await send("GET", "/posts");
    expect([response.status, await who(response)]).toEqual([200, `Bearer ${FRESH}`]);
    expect(response.headers.getSetCookie()[1]).toMatch(/^refreshToken=svc_rt_2; /);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("vary")).toContain("Accept");
    expect(refreshCalls()).toBe(1);
  });

  it("is cleared where no refresh token is beside it", async () => {
    const response = await send("GET", "/posts", { Cookie: cookies({ accessToken: STALE }) });
    expect([response.status, isCleared(response), refreshCalls()]).toEqual([200, true, 0]);
  });

  it("answers the 401 of a request whose body has gone, with the cookies for the next try", async () => {
    const type = { "Content-Type": "application/json" };
    rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
    const renewed = await send("POST", "/posts", type, "{}");
    expect([renewed.status, renewed.headers.getSetCookie().length]).toEqual([401, 3]);
    expect(renewed.headers.getSetCookie()[1]).toMatch(/^refreshToken=svc_rt_2; /);
    expect((await readError401(renewed)).code).toBe("INVALID_TOKEN");
    rig.upstream.on("POST /auth/refresh-token", refuseRefresh);
    const cleared = await send("POST", "/posts", type, "{}");
    expect([cleared.status, isCleared(cleared)]).toEqual([401, true]);
    expect(rig.upstream.heads.filter((line) => line === "POST /posts")).toHaveLength(2);
  });

  it("is asked about once: a second 401 is the answer", async () => {
    rig.upstream.on("POST /auth/refresh-token", grants(STALE, "svc_rt_2"));
    expect((await send("GET", "/posts")).status).toBe(401);
    expect(rig.upstream.heads).toEqual(["GET /posts", "POST /auth/refresh-token", "GET /posts"]);
  });

  it.each([
    ["POST", "/svc_file", "multipart/form-data; boundary=x"],
    ["PATCH", "/svc_file/1", "multipart/form-data; boundary=x"],
    ["POST", "/posts/import", "text/csv"],
    ["POST", "/posts/import", "application/x-ndjson"],
  ])(
    "is replaced or cleared with a file as well, for the next one: %s %s as %s",
    async (method, path, type) => {
      rig.upstream.on(`${method} ${path}`, refuseToken);
      rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
      const renewed = await send(method, path, { "Content-Type": type }, "a file");
      expect([renewed.status, renewed.headers.getSetCookie().length]).toEqual([401, 3]);
      rig.upstream.on("POST /auth/refresh-token", refuseRefresh);
      const cleared = await send(method, path, { "Content-Type": type }, "a file");
      expect([cleared.status, isCleared(cleared)]).toEqual([401, true]);
    },
  );

  it.each([
    ["POST", "/posts", "application/json", "{}"],
    ["POST", "/posts/import", "text/csv", "a file"],
    ["DELETE", "/posts/1", undefined, undefined],
  ])(
    "is left alone where its session ended while the request was under way, as the browser may have newer ones: %s %s",
    async (method, path, type, body) => {
      const refusesLate = json(401, { error: { code: "INVALID_TOKEN" } }, ENDED_MEANWHILE);
      rig.upstream.on(`${method} ${path}`, refusesLate);
      const response = await send(method, path, type === undefined ? {} : { "Content-Type": type }, body);
      expect([response.status, response.headers.getSetCookie()]).toEqual([401, []]);
      expect(rig.upstream.heads).toEqual([`${method} ${path}`]);
    },
  );

  it("stays where the data service can't say what became of the session", async () => {
    rig.upstream.on("POST /auth/refresh-token", refusal(503, "SERVICE_UNAVAILABLE", "Later."));
    const response = await send("GET", "/posts");
    expect([response.status, response.headers.getSetCookie()]).toEqual([503, []]);
  });

  it("may change something only from the page of the session that replaces it", async () => {
    const other = accessToken({ origin: "http://chat.localhost" });
    rig.upstream.on("POST /auth/refresh-token", grants(other, "svc_rt_2"));
    expect((await send("DELETE", "/posts/1")).status).toBe(403);
    expect(rig.upstream.heads).toEqual(["DELETE /posts/1", "POST /auth/refresh-token"]);
  });

  it.each([
    ["a 401 that says nothing of the token", {}, cookies(JAR)],
    ["a Bearer header", { Authorization: `Bearer ${STALE}` }, ""],
  ])("is not what %s is about", async (_what, headers, Cookie) => {
    rig.upstream.on("GET /me", Cookie === "" ? refuseToken : refusal(401, "INVALID_CREDENTIALS", "Wrong."));
    const response = await send("GET", "/me", { ...headers, Cookie });
    expect([response.status, response.headers.getSetCookie(), refreshCalls()]).toEqual([401, [], 0]);
  });
});

async function readError401(response: Response): Promise<Record<string, string>> {
  return ((await response.json()) as { error: Record<string, string> }).error;
}

describe("a request whose answer waits for a file, with an access cookie about to expire", () => {
  const BORROW = "POST /internal/auth/lend-access-token";
  const FILES: [string, string, string][] = [
    ["POST", "/api/svc_file", "multipart/form-data; boundary=x"],
    ["PATCH", "/api/svc_file/1", "multipart/form-data; boundary=x"],
    ["POST", "/api/posts/import", "text/csv"],
    ["POST", "/api/posts/import", "application/x-ndjson"],
  ];
  const send = (method: string, path: string, type: string): Promise<Response> =>
    rig.call(path, {
      method,
      body: "a file",
      headers: {
        "Content-Type": type,
        Origin: APP_URL,
        Cookie: cookies({ accessToken: accessToken({ expiresIn: -5 }), refreshToken: "svc_rt_1" }),
      },
    });

  it.each(FILES)("borrows a token for itself and sets no cookies: %s %s as %s", async (...call) => {
    rig.upstream.on(BORROW, json(200, { accessToken: FRESH }));
    const response = await send(...call);
    expect((await readEcho(response)).headers.authorization).toBe(`Bearer ${FRESH}`);
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(rig.upstream.heads).toEqual([BORROW, `${call[0]} ${call[1].slice("/api".length)}`]);
    const [borrowing] = rig.upstream.arrived;
    expect(borrowing?.body.toString()).toBe('{"refreshToken":"svc_rt_1"}');
    expect(borrowing?.headers.authorization).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
  });

  it.each(FILES)("is anonymous when nothing is lent, and the cookies stay: %s %s as %s", async (...call) => {
    rig.upstream.on(BORROW, json(200, { accessToken: null }));
    const response = await send(...call);
    expect((await readEcho(response)).headers.authorization).toBeUndefined();
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("is judged by the page of the session it borrowed from", async () => {
    rig.upstream.on(BORROW, json(200, { accessToken: accessToken({ origin: "http://chat.localhost" }) }));
    expect((await send("POST", "/api/posts/import", "text/csv")).status).toBe(403);
    expect(rig.upstream.heads).toEqual([BORROW]);
  });

  it("is answered 502 when the data service makes no sense", async () => {
    rig.upstream.on(BORROW, json(200, {}));
    const response = await send("POST", "/api/svc_file", "multipart/form-data; boundary=x");
    expect([response.status, response.headers.getSetCookie()]).toEqual([502, []]);
  });

  it("is answered 502, not as signed out, when the data service does not believe the gateway", async () => {
    rig.upstream.on(BORROW, refusal(401, "UNAUTHORIZED", "Only the gateway may call this."));
    const response = await send("POST", "/api/svc_file", "multipart/form-data; boundary=x");
    expect([response.status, response.headers.getSetCookie()]).toEqual([502, []]);
    expect((await readError(response)).error.code).toBe("BAD_GATEWAY");
  });

  it.each([
    ["stalls", "", "{}", 1_000, [BORROW, "POST /posts"], 0],
    ["comes right behind its head", "", "{}", 20, ["POST /auth/refresh-token", "POST /posts"], 3],
    [
      "is more than Node reads before somebody takes it",
      `{"text":"${"x".repeat(20_000)}`,
      `${"x".repeat(20_000)}"}`,
      20,
      ["POST /auth/refresh-token", "POST /posts"],
      3,
    ],
  ])(
    "borrows one exactly when its small body stalls: one that %s",
    async (...[, first, rest, pauseMs, heads, set]) => {
      rig.upstream.on(BORROW, json(200, { accessToken: FRESH }));
      rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
      const socket = await openSocket(rig.url);
      const jar = { accessToken: accessToken({ expiresIn: -5 }), refreshToken: "svc_rt_1" };
      const head = [
        "POST /api/posts HTTP/1.1",
        "Host: x",
        "Connection: close",
        "Content-Type: application/json",
        `Origin: ${APP_URL}`,
        `Cookie: ${cookies(jar)}`,
        `Content-Length: ${first.length + rest.length}`,
      ];
      socket.write(`${head.join("\r\n")}\r\n\r\n${first}`);
      setTimeout(() => socket.write(rest), pauseMs);
      const answer = String(Buffer.concat(await socket.toArray()));
      expect(statuses(answer)).toEqual([200]);
      expect(answer.match(/^Set-Cookie:/gim) ?? []).toHaveLength(set);
      expect(rig.upstream.heads).toEqual(heads);
    },
  );

  it("borrows one as well when its body is JSON in chunks, of which nobody knows how long it takes", async () => {
    rig.upstream.on(BORROW, json(200, { accessToken: FRESH }));
    const response = await rig.call("/api/posts", {
      method: "POST",
      body: new Blob([JSON.stringify({ text: "x" })]).stream(),
      duplex: "half",
      headers: {
        "Content-Type": "application/json",
        Origin: APP_URL,
        Cookie: cookies({ accessToken: accessToken({ expiresIn: -5 }), refreshToken: "svc_rt_1" }),
      },
    });
    expect([response.status, response.headers.getSetCookie()]).toEqual([200, []]);
    expect(rig.upstream.heads).toEqual([BORROW, "POST /posts"]);
  });

  it("refreshes like any other when its body is a little JSON", async () => {
    rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
    const response = await send("POST", "/api/svc_file", "application/json");
    expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3]);
    expect(rig.upstream.heads).toEqual(["POST /auth/refresh-token", "POST /svc_file"]);
  });
});

describe("a read that another origin's page begins, or a browser on a guess, and that both may give up unseen", () => {
  const BORROW = "POST /internal/auth/lend-access-token";
  const EXPIRED = { accessToken: accessToken({ expiresIn: -5 }), refreshToken: "svc_rt_1" };
  const THEIRS: [string, Record<string, string>][] = [
    ["a page of another site", { "Sec-Fetch-Site": "cross-site" }],
    ["a page of a sibling domain", { "Sec-Fetch-Site": "same-site" }],
    ["a prefetch", { "Sec-Fetch-Site": "same-origin", "Sec-Purpose": "prefetch" }],
    ["a prerendered page", { "Sec-Fetch-Site": "same-origin", "Sec-Purpose": "prefetch;prerender" }],
  ];

  it.each(THEIRS)(
    "borrows a token for itself, and leaves the browser its cookies: %s",
    async (_who, headers) => {
      rig.upstream.on(BORROW, json(200, { accessToken: FRESH }));
      const response = await get(EXPIRED, headers);
      expect((await readEcho(response)).headers.authorization).toBe(`Bearer ${FRESH}`);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect(rig.upstream.heads).toEqual([BORROW, "GET /me"]);
    },
  );

  it.each(THEIRS)(
    "does so as well where the cookie's token looked good and is not: %s",
    async (_who, headers) => {
      const stale = accessToken({ name: "stale" });
      const challenge = { "WWW-Authenticate": 'Bearer error="invalid_token"' };
      rig.upstream.on(BORROW, json(200, { accessToken: FRESH }));
      rig.upstream.on("GET /me", (arrived, response, request) => {
        const { authorization } = arrived.headers;
        const refuse = json(401, { error: { code: "INVALID_TOKEN" } }, challenge);
        const answer = authorization === `Bearer ${stale}` ? refuse : json(200, { authorization });
        answer(arrived, response, request);
      });
      const response = await get({ accessToken: stale, refreshToken: "svc_rt_1" }, headers);
      expect([response.status, await response.json()]).toEqual([200, { authorization: `Bearer ${FRESH}` }]);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect(rig.upstream.heads).toEqual(["GET /me", BORROW, "GET /me"]);
    },
  );

  it("is a visitor's where nothing is lent, and where there is nothing to borrow by", async () => {
    rig.upstream.on(BORROW, json(200, { accessToken: null }));
    const headers = { "Sec-Fetch-Site": "cross-site" };
    const unlent = await get(EXPIRED, headers);
    expect((await readEcho(unlent)).headers.authorization).toBeUndefined();
    expect(unlent.headers.getSetCookie()).toEqual([]);
    const alone = await get({ accessToken: accessToken({ expiresIn: -5 }) }, headers);
    expect([alone.status, alone.headers.getSetCookie()]).toEqual([200, []]);
  });

  it.each([
    ["the page itself", { "Sec-Fetch-Site": "same-origin" }],
    ["an address that was typed", { "Sec-Fetch-Site": "none" }],
    ["a browser that says nothing of it", {}],
    ["a page of ALLOWED_ORIGINS", { "Sec-Fetch-Site": "same-site", Origin: OTHER_ORIGIN }],
  ])("is none of: %s", async (_who, headers) => {
    rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
    expect((await get(EXPIRED, headers)).headers.getSetCookie()).toHaveLength(3);
  });
});

describe("an app on another origin that forwards to the gateway", () => {
  it.each([
    ["https", "https://chat.example.com", "__Host-"],
    ["http", "http://chat.localhost:4000", ""],
  ])("gets refreshed cookies in the spelling of its own scheme: %s", async (_scheme, origin, prefix) => {
    rig.upstream.on("POST /auth/refresh-token", grants(accessToken({ origin }), "svc_rt_2"));
    const set = (await get({ [`${prefix}refreshToken`]: "svc_rt_1" })).headers.getSetCookie();
    expect(set.map((line) => line.split("=")[0])).toEqual(
      ["accessToken", "refreshToken", "expTime"].map((name) => prefix + name),
    );
    expect(set.every((line) => line.includes("; Secure") === (prefix !== ""))).toBe(true);
  });
});

describe("plain cookies, which a sibling domain can plant, on https", () => {
  const SECURE_URL = "https://app.example.com";
  const HTTP_ORIGIN = "http://shop.localhost:4000";
  beforeEach(async () => {
    rig = await startRig({ APP_URL: SECURE_URL, ALLOWED_ORIGINS: HTTP_ORIGIN });
    rigs.push(rig);
  });

  it.each([
    ["names the app's own origin", SECURE_URL],
    ["names no origin", undefined],
  ])("count as none when the session %s", async (_which, origin) => {
    const made = origin === undefined ? {} : { origin };
    for (const expiresIn of [900, -5]) {
      const jar = { accessToken: accessToken({ ...made, expiresIn }), refreshToken: "svc_rt_1" };
      const response = await get(jar);
      expect((await readEcho(response)).headers.authorization).toBeUndefined();
      expect(response.headers.getSetCookie()).toEqual([]);
    }
    expect(refreshCalls()).toBe(0);
  });

  it("bring the browser no cookies when the refresh tells that the session is for https", async () => {
    rig.upstream.on("POST /auth/refresh-token", grants(accessToken({ origin: SECURE_URL }), "svc_rt_2"));
    rig.upstream.on("POST /internal/auth/lend-access-token", json(200, { accessToken: accessToken() }));
    const file = { method: "POST", headers: { Cookie: "refreshToken=svc_rt_1", "Content-Type": "text/csv" } };
    for (const response of [
      await get({ refreshToken: "svc_rt_1" }),
      await rig.call("/api/posts/import", { ...file, body: "a" }),
    ]) {
      expect((await readEcho(response)).headers.authorization).toBeUndefined();
      expect(response.headers.getSetCookie()).toEqual([]);
    }
  });

  it("serve a session that was made for an app on http", async () => {
    const token = accessToken({ origin: HTTP_ORIGIN });
    const echo = await readEcho(await get({ accessToken: token, refreshToken: "svc_rt_1" }));
    expect(echo.headers.authorization).toBe(`Bearer ${token}`);
    rig.upstream.on("POST /auth/refresh-token", grants(token, "svc_rt_2"));
    const refreshed = await get({ refreshToken: "svc_rt_1" });
    expect((await readEcho(refreshed)).headers.authorization).toBe(`Bearer ${token}`);
    expect(refreshed.headers.getSetCookie()[1]).toMatch(/^refreshToken=svc_rt_2; /);
  });
});

describe("cookies that can not be believed", () => {
  it.each([
    ["two of one name", `accessToken=${FRESH}; accessToken=${FRESH}`],
    ["a quoted twin", `$Version=1; accessToken="${FRESH}"; accessToken=${FRESH}`],
    ["a quoted value", `accessToken="${FRESH}"`],
    ["an object", 'refreshToken=j:{"$ne":null}'],
    ["an encoded object", "refreshToken=j%3A%7B%22%24ne%22%3Anull%7D"],
    ["a number as object", "refreshToken=j:1"],
    ["a name with a foreign blank", `\u00a0accessToken=${FRESH}`],
    ["a name in other letters", `AccessToken=${FRESH}`],
    ["two of one name with the prefix", `__Host-accessToken=${FRESH}; __Host-accessToken=${FRESH}`],
    ["the prefix in other letters", `__host-accessToken=${FRESH}`],
    ["the prefix in percent-encoding", `%5F%5FHost-accessToken=${FRESH}`],
    ["the prefix with U+2000 in UTF-8 before it", `\u00e2\u0080\u0080__Host-accessToken=${FRESH}`],
    ["the prefix twice", `__Host-__Host-accessToken=${FRESH}`],
    ["the prefix of a weaker kind", `__Secure-accessToken=${FRESH}`],
    ["a quoted one with the prefix beside a plain one", `__Host-accessToken="x"; accessToken=${FRESH}`],
    ["an encoded value", `accessToken=${FRESH.replace(".", "%2E")}`],
    ["a value longer than a browser keeps", `refreshToken=${"a".repeat(4096)}`],
    ["a JSON list", "refreshToken=j:[1]"],
  ])("count as none: %s", async (_what, Cookie) => {
    const echo = await readEcho(await rig.call("/api/me", { headers: { Cookie } }));
    expect(echo.headers.authorization).toBeUndefined();
    expect(refreshCalls()).toBe(0);
  });
});

describe("a Bearer header", () => {
  it("goes upstream as it is; cookies are ignored and nothing is refreshed", async () => {
    const response = await get({ refreshToken: "svc_rt_1" }, { Authorization: "Bearer garbage" });
    expect((await readEcho(response)).headers.authorization).toBe("Bearer garbage");
    expect(refreshCalls()).toBe(0);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it.each(["/api/auth/refresh-token", "/api/auth/login"])(
    "is ignored by %s, and so are cookies",
    async (path) => {
      const init = { headers: { Authorization: "Bearer x", Cookie: cookies({ refreshToken: "svc_rt_1" }) } };
      expect((await readEcho(await rig.call(path, init))).headers.authorization).toBeUndefined();
      expect(refreshCalls()).toBe(0);
    },
  );
});

describe("an unsafe request that relies on cookies", () => {
  const post = (headers: Record<string, string>, body = "{}"): Promise<Response> =>
    rig.call("/api/posts", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body,
    });
  const jar = (origin = APP_URL): string => {
    const prefix = origin.startsWith("https:") ? "__Host-" : "";
    const token = accessToken({ origin });
    return cookies({ [`${prefix}accessToken`]: token, [`${prefix}refreshToken`]: "svc_rt_1" });
  };

  it.each([
    ["no browser headers", {}],
    ["the session's own page", { "Sec-Fetch-Site": "same-origin", Origin: APP_URL }],
    ["a user-typed one", { "Sec-Fetch-Site": "none" }],
  ])("passes with %s", async (_what, headers) => {
    expect((await post({ Cookie: jar(APP_URL), ...headers })).status).toBe(200);
  });

  it.each([
    ["cross-site", { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.com" }],
    ["same-site", { "Sec-Fetch-Site": "same-site" }],
    ["the null origin", { Origin: "null" }],
    ["an origin with more behind it", { Origin: `${APP_URL}.evil.com` }],
    ["two origins", { Origin: `${APP_URL}, https://evil.com` }],
    ["another allowed origin than the session's", { Origin: OTHER_ORIGIN }],
  ])("is refused with 403 from %s", async (_what, headers) => {
    const response = await post({ Cookie: jar(APP_URL), ...headers });
    expect(response.status).toBe(403);
    expect((await readError(response)).error.path).toBe("/api/posts");
    expect(rig.upstream.arrived).toEqual([]);
  });

  it("belongs to the origin its session was made for", async () => {
    expect((await post({ Cookie: jar(OTHER_ORIGIN), Origin: OTHER_ORIGIN })).status).toBe(200);
    expect((await post({ Cookie: jar(OTHER_ORIGIN), Origin: APP_URL })).status).toBe(403);
  });

  it("is judged by the refreshed session, not by what an old cookie says", async () => {
    rig.upstream.on("POST /auth/refresh-token", grants(FRESH, "svc_rt_2"));
    const forged = accessToken({ expiresIn: -5, origin: OTHER_ORIGIN });
    const Cookie = cookies({ "__Host-accessToken": forged, "__Host-refreshToken": "svc_rt_1" });
    const response = await post({ Cookie, Origin: OTHER_ORIGIN });
    expect(response.status).toBe(403);
    expect(response.headers.getSetCookie()).toHaveLength(3);
    expect(rig.upstream.heads).toEqual(["POST /auth/refresh-token"]);
  });

  it("passes from the session's own page, though only the refresh tells which that is", async () => {
    rig.upstream.on("POST /auth/refresh-token", grants(accessToken({ origin: OTHER_ORIGIN }), "svc_rt_2"));
    const Cookie = cookies({ "__Host-refreshToken": "svc_rt_1" });
    const response = await post({ Cookie, Origin: OTHER_ORIGIN });
    expect((await readEcho(response)).headers.authorization).toMatch(/^Bearer /);
  });

  it("causes no refresh from a foreign page", async () => {
    const Cookie = cookies({ refreshToken: "svc_rt_1" });
    expect((await post({ Cookie, Origin: "https://evil.com" })).status).toBe(403);
    expect(rig.upstream.heads).toEqual([]);
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])(
    "is refused with 415 when its body is %p",
    async (type) => {
      expect((await post({ Cookie: jar(), "Content-Type": type })).status).toBe(415);
      expect(rig.upstream.arrived).toEqual([]);
    },
  );

  it("may carry multipart on the upload routes only", async () => {
    const init = {
      headers: { Cookie: jar(), "Content-Type": "multipart/form-data; boundary=x" },
      body: "--x--",
    };
    expect((await rig.call("/api/svc_file", { method: "POST", ...init })).status).toBe(200);
    expect((await rig.call("/api/svc_file/1", { method: "PATCH", ...init })).status).toBe(200);
    expect((await rig.call("/api/svc_file/1", { method: "POST", ...init })).status).toBe(415);
  });

  it("leaves a form without its boundary to the data service, which says what is missing", async () => {
    const init = { headers: { Cookie: jar(), "Content-Type": "multipart/form-data" }, body: "--x--" };
    expect((await rig.call("/api/svc_file", { method: "POST", ...init })).status).toBe(200);
  });

  it("needs neither page nor content type with a Bearer token", async () => {
    const headers = { Authorization: "Bearer x", Origin: "https://evil.com", "Content-Type": "text/plain" };
    expect((await post(headers)).status).toBe(200);
  });

  it("may read from any page: GET changes nothing", async () => {
    const response = await rig.call("/api/posts", {
      headers: { Cookie: jar(), "Sec-Fetch-Site": "cross-site" },
    });
    expect(response.status).toBe(200);
  });
});
