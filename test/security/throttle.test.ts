// Contract 8 and security rows G1-G7, E6: how often one may try to sign in, to refresh, to ask at all.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { MongoClient } from "mongodb";
import { Browser } from "../contract/auth/jar.js";
import { make } from "../contract/records/make.js";
import { sendRaw } from "../gateway/support/raw-http.js";
import { type Answer, type Api, apiOf, asAdmin, signIn } from "../support/api.js";
import { type Stack, startStack } from "../support/stack.js";

const MINUTE_MS = 60_000;

let stack: Stack;
let twin: Stack;
let admin: Api;
let database: MongoClient;
let people = 0;
let addresses = 0;
let ann: { email: string; password: string };

beforeAll(async () => {
  stack = await startStack({ env: { TRUST_PROXY: "loopback" } });
  twin = await startStack({ twinOf: stack, env: { TRUST_PROXY: "loopback" } });
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
});

afterAll(async () => {
  await database.close();
  await twin.stop();
  await stack.stop();
});

beforeEach(async () => {
  people += 1;
  ann = { email: `ann${people}@example.com`, password: "ann's password" };
  await make(admin, "svc_user", ann);
});

/** An address that has not been used yet, in a network of its own. */
function newAddress(): string {
  addresses += 1;
  return `198.18.${addresses >> 8}.${addresses & 255}`;
}
const from = (address: string, on = stack): Api => apiOf(`${on.appUrl}/api`, { "X-Forwarded-For": address });
const wrong = (email = ann.email) => ({ email, password: "wrong password" });

async function failures(count: number, api: Api, email?: string): Promise<number[]> {
  const statuses = [];
  for (let at = 0; at < count; at += 1) statuses.push((await api.post("/auth/login", wrong(email))).status);
  return statuses;
}

/** Moves the counters into the past, as if this much time had gone by. */
async function goBy(milliseconds: number): Promise<void> {
  const earlier = (field: string) => ({ $subtract: [`$${field}`, milliseconds] });
  await database
    .db()
    .collection("_throttle")
    .updateMany({}, [
      {
        $set: {
          expiresAt: earlier("expiresAt"),
          notBefore: { $cond: [{ $gt: ["$notBefore", null] }, earlier("notBefore"), "$$REMOVE"] },
          admittedAt: { $cond: [{ $gt: ["$admittedAt", null] }, earlier("admittedAt"), "$$REMOVE"] },
        },
      },
    ]);
}

function expectThrottled({ status, headers, body }: Answer): void {
  expect([status, body.error.code]).toEqual([429, "TOO_MANY_REQUESTS"]);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  expect(body.message).toContain(`try again in ${headers.get("retry-after")} seconds`);
}

describe("after five failures of one account from one address", () => {
  it("every try is 429 with Retry-After, the right password included, for 15 minutes", async () => {
    const api = from(newAddress());
    expect(await failures(5, api)).toEqual([401, 401, 401, 401, 401]);
    expectThrottled(await api.post("/auth/login", wrong()));
    const right = await api.post("/auth/login", ann);
    expectThrottled(right);
    expect(Number(right.headers.get("retry-after"))).toBeGreaterThan(14 * 60);
    await goBy(15 * MINUTE_MS);
    expect((await api.post("/auth/login", ann)).status).toBe(200);
  });

  it("it is one count for both routes and both instances", async () => {
    const address = newAddress();
    const [here, there] = [from(address), from(address, twin)];
    const statuses = [
      (await here.post("/login", wrong())).status,
      (await there.post("/auth/login", wrong())).status,
      (await here.post("/auth/login", wrong())).status,
      (await there.post("/login", wrong())).status,
      (await here.post("/login", wrong())).status,
    ];
    expect(statuses).toEqual([401, 401, 401, 401, 401]);
    for (const answer of [await here.post("/login", ann), await there.post("/auth/login", ann)]) {
      expectThrottled(answer);
    }
  });

  it("G2 no other spelling of address or path counts anew", async () => {
    const api = from(newAddress());
    await failures(5, api);
    expectThrottled(await api.post("/auth/login", { ...ann, email: ` ${ann.email.toUpperCase()} ` }));
    for (const path of ["/auth/login/", "/auth/%6cogin", "/login/", "/%6cogin"]) {
      expectThrottled(await api.post(path, ann));
    }
    expect([404, 405]).toContain((await api.post("/auth/LOGIN", ann)).status);
  });

  it("E6 a header that nobody trusts is no other address", async () => {
    const untrusting = await startStack({ twinOf: stack });
    try {
      const statuses = [];
      for (let at = 0; at < 6; at += 1) {
        const headers = { "X-Forwarded-For": newAddress(), Forwarded: `for=${newAddress()}` };
        statuses.push((await apiOf(`${untrusting.appUrl}/api`, headers).post("/auth/login", wrong())).status);
      }
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    } finally {
      await untrusting.stop();
    }
  });

  it("another /64 is another address, the same /64 is not", async () => {
    await failures(5, from("2001:db8:1:1::1"));
    expectThrottled(await from("2001:db8:1:1:ffff::2").post("/auth/login", ann));
    expect((await from("2001:db8:1:2::1").post("/auth/login", ann)).status).toBe(200);
  });

  it("other accounts, other addresses and the account's sessions are untouched", async () => {
    const address = newAddress();
    const browser = new Browser(stack);
    await browser.logIn(ann, { "X-Forwarded-For": newAddress() });
    await failures(6, from(address));
    expect((await from(newAddress()).post("/auth/login", ann)).status).toBe(200);
    expect((await from(address).post("/auth/login", stack.admin)).status).toBe(200);
    expect((await browser.get("/me")).status).toBe(200);
    const later = Browser.with(stack, { refreshToken: browser.cookies.refreshToken });
    expect((await later.get("/me")).status).toBe(200);
  });

  it("fifty tries at the same time are five", async () => {
    const api = [from("203.0.113.50"), from("203.0.113.50", twin)] as const;
    const all = await Promise.all(
      Array.from({ length: 50 }, (_none, at) => (at % 2 ? api[0] : api[1]).post("/auth/login", wrong())),
    );
    const count = (status: number) => all.filter((answer) => answer.status === status).length;
    // A busy machine has no time for some, admitted or not.
    const [judged, tooMany, unjudged] = [count(401), count(429), count(503)];
    expect(judged).toBeLessThanOrEqual(5);
    expect(judged + unjudged).toBeGreaterThanOrEqual(5);
    expect(judged + tooMany + unjudged).toBe(all.length);
  });

  it("right passwords at the same time are told to come back at once, and not in a quarter of an hour", async () => {
    const api = [from("203.0.113.51"), from("203.0.113.51", twin)] as const;
    const signIn = (at: number) => (at % 2 ? api[0] : api[1]).post("/auth/login", ann);
    const twentyAtOnce = () => Promise.all(Array.from({ length: 20 }, (_none, at) => signIn(at)));
    const refused: Answer[] = [];
    // Each success makes room: where a busy machine begins one only when the last is done, none is refused.
    while (refused.length === 0) {
      refused.push(...(await twentyAtOnce()).filter(({ status }) => status !== 200));
    }
    for (const answer of refused) expectThrottled(answer);
    expect(new Set(refused.map(({ headers }) => headers.get("retry-after")))).toEqual(new Set(["1"]));
    expect((await signIn(0)).status).toBe(200);
  });

  it("tries that a process took with it count as failed: nobody is told to come back each second", async () => {
    const address = "203.0.113.52";
    expect(await failures(5, from(address))).toEqual([401, 401, 401, 401, 401]);
    const counter = { _id: { $regex: `^sign-in:.*:${address}` } };
    const { modifiedCount } = await database
      .db()
      .collection<{ _id: string }>("_throttle")
      .updateOne(counter, { $inc: { failed: -1 } });
    expect(modifiedCount).toBe(1);
    const wait = async () =>
      Number((await from(address).post("/auth/login", ann)).headers.get("retry-after"));
    expect(await wait()).toBe(1);
    await goBy(MINUTE_MS);
    expect(await wait()).toBeGreaterThan(13 * 60);
  });
});

describe("a success", () => {
  it("forgets the failures of its account and address, and costs nothing itself", async () => {
    const api = from(newAddress());
    for (let round = 0; round < 3; round += 1) {
      expect(await failures(4, api)).toEqual([401, 401, 401, 401]);
      expect((await api.post("/auth/login", ann)).status).toBe(200);
    }
    for (let at = 0; at < 8; at += 1) expect((await api.post("/auth/login", ann)).status).toBe(200);
  });

  it("does not forget what the address did to other accounts", async () => {
    const address = newAddress();
    await database
      .db()
      .collection<{ _id: string; count: number; expiresAt: Date }>("_throttle")
      .insertOne({
        _id: `failures:${address}`,
        count: 99,
        expiresAt: new Date(Date.now() + 10 * MINUTE_MS),
      });
    const api = from(address);
    expect((await api.post("/auth/login", ann)).status).toBe(200);
    expect(await failures(2, api, "nobody@example.com")).toEqual([401, 429]);
    expectThrottled(await api.post("/auth/login", ann));
  });
});

describe("an address", () => {
  it("has a hundred failures in 15 minutes, whatever the accounts", async () => {
    const api = from(newAddress());
    const statuses = [];
    for (let at = 0; at < 102; at += 1) statuses.push(...(await failures(1, api, `nobody${at}@example.com`)));
    expect(statuses.slice(98)).toEqual([401, 401, 429, 429]);
    expectThrottled(await api.post("/auth/login", ann));
    expect((await from(newAddress()).post("/auth/login", ann)).status).toBe(200);
    await goBy(15 * MINUTE_MS);
    expect((await api.post("/auth/login", ann)).status).toBe(200);
  });
});

describe("an account", () => {
  it("G1 waits ever longer from the tenth failure on, whatever the addresses; then the right password works", async () => {
    expect(await failures(5, from(newAddress()))).toEqual([401, 401, 401, 401, 401]);
    expect(await failures(5, from(newAddress()))).toEqual([401, 401, 401, 401, 401]);
    const waits = [];
    for (let at = 0; at < 12; at += 1) {
      const answer = await from(newAddress()).post("/auth/login", wrong());
      expectThrottled(answer);
      const seconds = Number(answer.headers.get("retry-after"));
      waits.push(seconds);
      await goBy(seconds * 1000);
      expect((await from(newAddress()).post("/auth/login", wrong())).status).toBe(401);
    }
    expect(waits.slice(0, 5)).toEqual([1, 2, 4, 8, 16]);
    expect(waits.slice(10)).toEqual([900, 900]);
    await goBy(900_000);
    expect((await from(newAddress()).post("/auth/login", ann)).status).toBe(200);
    expect((await from(newAddress()).post("/auth/login", wrong())).status).toBe(401);
  });

  it("G3 lets its owner in from a network where it has signed in lately, whoever guesses meanwhile", async () => {
    const home = from(newAddress());
    expect((await home.post("/auth/login", ann)).status).toBe(200);
    // Whoever guesses takes each moment that opens: the account is always waiting.
    for (let at = 0; at < 3; at += 1) await failures(5, from(newAddress()));
    expectThrottled(await from(newAddress()).post("/auth/login", ann));
    expect(await failures(4, home)).toEqual([401, 401, 401, 401]);
    expect((await home.post("/auth/login", ann)).status).toBe(200);
    for (let at = 0; at < 3; at += 1) await failures(5, from(newAddress()));
    expect(await failures(6, home)).toEqual([401, 401, 401, 401, 401, 429]);
    await goBy(31 * 24 * 60 * MINUTE_MS);
    for (let at = 0; at < 3; at += 1) await failures(5, from(newAddress()));
    expectThrottled(await home.post("/auth/login", ann));
  });

  it("G1 of 200 wrong tries from 50 addresses has far fewer than a hundred judged", async () => {
    const many = Array.from({ length: 50 }, newAddress);
    const all = await Promise.all(
      many.flatMap((address) => Array.from({ length: 4 }, () => from(address).post("/auth/login", wrong()))),
    );
    const count = (wanted: number): number => all.filter(({ status }) => status === wanted).length;
    // A busy machine lets passwords wait for no longer than 3 s, and judges fewer.
    const [judged, tooMany, unjudged] = [count(401), count(429), count(503)];
    expect(judged).toBeGreaterThanOrEqual(1);
    expect(judged + unjudged).toBeGreaterThanOrEqual(10);
    expect(judged).toBeLessThan(30);
    expect(judged + tooMany + unjudged).toBe(all.length);
  });

  it("that does not exist, has no password or is inactive is throttled in the same words", async () => {
    await make(admin, "svc_user", { email: `none${people}@example.com` });
    await make(admin, "svc_user", { ...ann, email: `off${people}@example.com`, isActive: false });
    const texts = [];
    for (const email of [
      ann.email,
      "who@example.com",
      `none${people}@example.com`,
      `off${people}@example.com`,
    ]) {
      const api = from(newAddress());
      const statuses = await failures(5, api, email);
      const { body } = await api.post("/auth/login", { ...ann, email });
      texts.push(JSON.stringify([statuses, body.statusCode, String(body.message).replace(/\d+/, "n")]));
    }
    expect(new Set(texts).size).toBe(1);
  });
});

describe("the counters", () => {
  it("tell no e-mail address, and what is refused for its form counts nothing", async () => {
    const api = from(newAddress());
    for (let at = 0; at < 7; at += 1) {
      expect((await api.post("/auth/login", { email: ann.email })).status).toBe(400);
    }
    expect((await api.post("/auth/login", wrong())).status).toBe(401);
    const dump = JSON.stringify(await database.db().collection("_throttle").find().toArray());
    expect(dump).toContain("sign-in:");
    expect(dump).not.toContain("example.com");
  });

  it("are not made for accounts that a network names beyond its limit", async () => {
    const address = newAddress();
    const counters = database.db().collection<{ _id: string; count: number; expiresAt: Date }>("_throttle");
    const expiresAt = new Date(Date.now() + 10 * MINUTE_MS);
    await counters.insertOne({ _id: `failures:${address}`, count: 100, expiresAt });
    const before = await counters.countDocuments();
    for (let at = 0; at < 5; at += 1)
      expectThrottled(await from(address).post("/auth/login", wrong(`made-up${at}@example.com`)));
    expect(await counters.countDocuments()).toBe(before);
  });

  it("G5 come before the hash: a throttled try is answered at once", async () => {
    const api = from(newAddress());
    await failures(5, api);
    const timeOf = async (client: Api) => {
      const started = performance.now();
      await client.post("/auth/login", wrong());
      return performance.now() - started;
    };
    const throttled = Math.min(...[await timeOf(api), await timeOf(api), await timeOf(api)]);
    const judged = Math.min(...[await timeOf(from(newAddress())), await timeOf(from(newAddress()))]);
    expect(throttled).toBeLessThan(judged);
  });

  it("G5 of a flood that the hashing queue can't take: 503 with Retry-After, and nobody pays for it", async () => {
    const emails = Array.from({ length: 200 }, (_none, at) => `flood${at}-${people}@example.com`);
    const all = await Promise.all(
      emails.map((email) => from(newAddress()).post("/auth/login", wrong(email))),
    );
    const busy = all.filter(({ status }) => status === 503);
    expect(all.every(({ status }) => status === 401 || status === 503)).toBe(true);
    expect(busy.length).toBeGreaterThan(0);
    expect(busy.every(({ headers }) => headers.get("retry-after") === "2")).toBe(true);
    expect((await from(newAddress()).post("/auth/login", ann)).status).toBe(200);
  });
});

describe("G6, G7 a body that is no sign-in", () => {
  it.each<[string, object]>([
    ["an operator for the e-mail", { email: { $ne: null }, password: "x" }],
    ["an operator for the password", { email: "ann1@example.com", password: { $gt: "" } }],
    ["a list", { email: ["ann1@example.com"], password: "x" }],
  ])("is 400: %s", async (_name, body) => {
    expect((await from(newAddress()).post("/auth/login", body)).status).toBe(400);
  });

  it("of a megabyte is 413", async () => {
    const password = "a".repeat(1024 * 1024);
    for (const path of ["/auth/login", "/login"]) {
      expect((await from(newAddress()).post(path, { ...ann, password })).status).toBe(413);
    }
  });

  // A body that has begun: the gateway hands a head on with the first of what follows it.
  it.each(["/auth/login", "/login"])("of a megabyte is 413 at %s before it is there", async (path) => {
    const head = [
      `POST /api${path} HTTP/1.1`,
      `Host: ${new URL(stack.appUrl).host}`,
      `X-Forwarded-For: ${newAddress()}`,
      "Content-Type: application/json",
      `Content-Length: ${1024 * 1024}`,
    ];
    const answer = await sendRaw(stack.gateway.url, `${head.join("\r\n")}\r\n\r\n{`);
    expect(answer.slice(0, 13)).toBe("HTTP/1.1 413 ");
  });
});

describe("a session", () => {
  it("is refreshed thirty times a minute, on all instances together; then 429, and the cookies stay", async () => {
    const api = from(newAddress());
    let { refreshToken } = (await api.post("/auth/login", ann)).body;
    for (let at = 0; at < 30; at += 1) {
      const on = at % 2 ? stack : twin;
      const answer = await from(newAddress(), on).post("/auth/refresh-token", { refreshToken });
      expect(answer.status).toBe(200);
      refreshToken = answer.body.refreshToken;
    }
    expectThrottled(await api.post("/auth/refresh-token", { refreshToken }));
    const browser = Browser.with(stack, { refreshToken });
    const answer = await browser.get("/me");
    expectThrottled(answer);
    expect(answer.headers.getSetCookie()).toEqual([]);
    await goBy(MINUTE_MS);
    expect((await browser.get("/me")).status).toBe(200);
  });

  it("answers one refresh as often as it is asked for: repeats and parallel calls use none of the thirty up", async () => {
    const api = from(newAddress());
    const { refreshToken } = (await api.post("/auth/login", ann)).body;
    const ask = (at: number) =>
      from(newAddress(), at % 2 ? stack : twin).post("/auth/refresh-token", { refreshToken });
    const calls = Array.from({ length: 40 }, (_none, at) => at);
    const answers = await Promise.all(calls.map(ask));
    for (const at of calls) answers.push(await ask(at));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.refreshToken)).size).toBe(1);
    const browser = Browser.with(stack, { refreshToken });
    expect((await browser.get("/me")).status).toBe(200);
  });

  it("is not refreshed less for tokens that somebody made up", async () => {
    const api = from(newAddress());
    const { refreshToken } = (await api.post("/auth/login", ann)).body;
    const forged = `${refreshToken.slice(0, -2)}${refreshToken.endsWith("AA") ? "BB" : "AA"}`;
    for (let at = 0; at < 35; at += 1) {
      expect((await api.post("/auth/refresh-token", { refreshToken: forged })).status).toBe(401);
    }
    expect((await api.post("/auth/refresh-token", { refreshToken })).status).toBe(200);
  });
});

describe("a user with more than a thousand sessions", () => {
  it("loses those that were used longest ago, within some sign-ins", async () => {
    const sessions = database.db().collection<{ _id: string; lastUsedAt: Date }>("_sessions");
    await signIn(`${stack.appUrl}/api`, ann);
    const own = await sessions.findOne({}, { sort: { createdAt: -1 } });
    if (own === null) throw new Error("no session");
    const older = Array.from({ length: 1_100 }, (_, age) => ({
      ...own,
      _id: `older ${people} ${age + 1}`,
      lastUsedAt: new Date(own.lastUsedAt.getTime() - age - 1),
    }));
    await sessions.insertMany(older);
    let ids: string[];
    let signIns = 0;
    // One of sixteen looks for them: that none of three hundred does happens once in hundreds of millions.
    do {
      const again = await signIn(`${stack.appUrl}/api`, ann);
      ids = (await again.get("/me/sessions")).body.data.map(({ id }: { id: string }) => id);
      signIns += 1;
    } while (ids.length > 1_000 && signIns < 300);
    expect(ids).toHaveLength(1_000);
    expect(ids.slice(1 + signIns)).toEqual(older.slice(0, 999 - signIns).map(({ _id }) => _id));
  });
});

describe("RATE_LIMIT_PER_MINUTE", () => {
  it("bounds the requests of one address over all instances, and leaves others and the probes alone", async () => {
    const env = { TRUST_PROXY: "loopback", RATE_LIMIT_PER_MINUTE: "20" };
    const [one, two] = [await startStack({ twinOf: stack, env }), await startStack({ twinOf: stack, env })];
    try {
      const address = newAddress();
      const statuses = [];
      for (let at = 0; at < 22; at += 1) {
        statuses.push((await from(address, at % 2 ? one : two).get("/.well-known/jwks.json")).status);
      }
      expect(statuses).toEqual([...Array(20).fill(200), 429, 429]);
      expectThrottled(await from(address, one).get("/me"));
      expect((await from(newAddress(), one).get("/.well-known/jwks.json")).status).toBe(200);
      expect((await apiOf(one.appUrl, { "X-Forwarded-For": address }).get("/readyz")).status).toBe(200);
      await goBy(MINUTE_MS);
      expect((await from(address, two).get("/.well-known/jwks.json")).status).toBe(200);
    } finally {
      await one.stop();
      await two.stop();
    }
  });

  it("never keeps a session from ending: neither by a log-out nor by the sign-in that takes its place", async () => {
    const limited = await startStack({
      twinOf: stack,
      env: { TRUST_PROXY: "loopback", RATE_LIMIT_PER_MINUTE: "2" },
    });
    try {
      const headers = { "X-Forwarded-For": newAddress() };
      const browser = new Browser(limited);
      await browser.logIn(ann, headers);
      const former = browser.cookies;
      // The last request that its address has.
      await browser.logIn(ann, headers);
      expect((await browser.get("/me", headers)).status).toBe(429);
      expect((await Browser.with(stack, former).get("/me")).status).toBe(401);
      const latter = browser.cookies;
      expect((await browser.post("/logout", undefined, headers)).status).toBe(200);
      expect(browser.cookies).toEqual({});
      expect((await Browser.with(stack, latter).get("/me")).status).toBe(401);
    } finally {
      await limited.stop();
    }
  });
});
