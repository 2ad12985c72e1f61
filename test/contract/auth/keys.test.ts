// Contract 3.1: signing keys, their rotation without a restart, and the keys that are published.
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { MongoClient } from "mongodb";
import { type Api, apiOf, asAdmin, signIn } from "../../support/api.js";
import { type Stack, startStack } from "../../support/stack.js";
import { until } from "../../support/wait.js";
import { make } from "../records/make.js";

const ANN = { email: "ann@example.com", password: "ann's password" };
const TTL_SECONDS = 5;

let stack: Stack;
let twin: Stack;
let admin: Api;
let database: MongoClient;
let base: string;

beforeAll(async () => {
  stack = await startStack();
  twin = await startStack({ twinOf: stack });
  database = await MongoClient.connect(stack.mongodbUrl);
  admin = await asAdmin(stack);
  await make(admin, "svc_user", ANN);
  base = `${stack.appUrl}/api`;
});

afterAll(async () => {
  await database.close();
  await twin.stop();
  await stack.stop();
});

const keyDocuments = () =>
  database.db().collection<{ _id: string; activeFrom: Date; sealed?: string }>("_signing_keys");
const published = async (on = stack): Promise<string[]> =>
  (await apiOf(`${on.appUrl}/api`).get("/.well-known/jwks.json")).body.keys.map(
    ({ kid }: { kid: string }) => kid,
  );
const logIn = async (on = stack): Promise<string> =>
  (await apiOf(`${on.appUrl}/api`).post("/auth/login", ANN)).body.accessToken;
const kidOf = (token: string) => decodeProtectedHeader(token).kid;
const meStatus = async (token: string, on = stack) =>
  (await apiOf(`${on.appUrl}/api`, { Authorization: `Bearer ${token}` }).get("/me")).status;

/** Lets the turns of all keys begin this much earlier; instances look again within five seconds. */
async function goBy(milliseconds: number): Promise<void> {
  await keyDocuments().updateMany({ activeFrom: { $gt: new Date(0) } }, [
    { $set: { activeFrom: { $subtract: ["$activeFrom", milliseconds] } } },
  ]);
}

const FOLLOWED_WITHIN_MS = 8_000;

/** Waits until the answer is this one. */
async function untilIs<Value>(wanted: Value, ask: () => Promise<Value>): Promise<void> {
  await until(ask, (value) => value === wanted, FOLLOWED_WITHIN_MS);
}

describe("a start", () => {
  it.each([
    ["the same signing key", () => ({})],
    [
      "another one",
      () => ({
        AUTH_PRIVATE_KEY: JSON.stringify(generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" })),
      }),
    ],
  ])(
    "with another ENCRYPTION_KEY and %s stops the start, and leaves the ring alone",
    async (_what, given) => {
      const before = await keyDocuments().find().toArray();
      const env = { ENCRYPTION_KEY: "a".repeat(64), ...given() };
      await expect(startStack({ twinOf: stack, env })).rejects.toThrow("ENCRYPTION_KEY");
      expect(await keyDocuments().find().toArray()).toEqual(before);
    },
  );
});

describe("POST /auth/keys/rotate", () => {
  it("is for root admins alone", async () => {
    expect((await apiOf(base).post("/auth/keys/rotate")).status).toBe(401);
    expect((await (await signIn(base, ANN)).post("/auth/keys/rotate")).status).toBe(403);
    expect((await admin.get("/auth/keys/rotate")).status).toBe(405);
  });

  it("publishes a new key at once, lets it sign a moment later, and believes the tokens of the former", async () => {
    const [before] = await published();
    const old = await logIn();
    expect(kidOf(old)).toBe(before);
    const { status, body } = await admin.post("/auth/keys/rotate");
    expect([status, body.message]).toEqual([200, "Success"]);
    const waits = Date.parse(body.activeFrom) - Date.now();
    expect(waits).toBeGreaterThan(5_000);
    expect(waits).toBeLessThan(12_000);
    expect(await published()).toEqual([before, body.kid]);
    expect(kidOf(await logIn())).toBe(before);
    await goBy(12_000);
    await untilIs(body.kid, async () => kidOf(await logIn()));
    await untilIs(body.kid, async () => kidOf(await logIn(twin)));
    const fresh = await logIn();
    for (const token of [old, fresh]) {
      expect([await meStatus(token), await meStatus(token, twin)]).toEqual([200, 200]);
    }
  });

  it("J004 lets a token of the former key be refreshed, and its repeat is the same on every instance", async () => {
    const { refreshToken } = (await apiOf(base).post("/auth/login", ANN)).body;
    const first = await apiOf(base).post("/auth/refresh-token", { refreshToken });
    await admin.post("/auth/keys/rotate");
    await goBy(8_000);
    const repeated = await apiOf(`${twin.appUrl}/api`).post("/auth/refresh-token", { refreshToken });
    expect(repeated.body).toEqual(first.body);
  });

  it("keeps private halves encrypted, and forgets those that are long over", async () => {
    await goBy(3_600_000);
    await admin.post("/auth/keys/rotate");
    const all = await keyDocuments().find().sort({ activeFrom: 1 }).toArray();
    expect(all.length).toBeGreaterThan(3);
    expect(all[0]?.sealed).toBeUndefined();
    expect(all.at(-1)?.sealed).toMatch(/^eyJ/);
    expect(JSON.stringify(all)).not.toMatch(/"d":/);
  });

  it("no longer believes or publishes a key whose last token has expired", async () => {
    const token = await logIn();
    await admin.post("/auth/keys/rotate");
    // Ten seconds until its turn, the life of a token, and the skew.
    await goBy((10 + 900 + 30 + 5) * 1000);
    await untilIs(401, () => meStatus(token));
    await untilIs(401, () => meStatus(token, twin));
    expect(await published()).not.toContain(kidOf(token));
    expect(await meStatus(await logIn())).toBe(200);
  });
});

describe("the published keys", () => {
  it("verify a token for another service, and hold no private part", async () => {
    const url = new URL(`${base}/.well-known/jwks.json`);
    const { payload } = await jwtVerify(await logIn(), createRemoteJWKSet(url), {
      algorithms: ["EdDSA"],
      typ: "at+jwt",
      issuer: stack.appUrl,
      audience: "portico",
    });
    expect(payload.sub).toMatch(/^[0-9a-f]{24}$/);
    expect(JSON.stringify((await apiOf(base).get("/.well-known/jwks.json")).body)).not.toMatch(/"d":/);
  });
});

describe("AUTH_PRIVATE_KEY", () => {
  const asText = (key: KeyObject) => JSON.stringify(key.export({ format: "jwk" }));

  it("begins the ring; a new value at the next start is a rotation, and the former is no rotation back", async () => {
    const [first, second] = [0, 1].map(() => asText(generateKeyPairSync("ed25519").privateKey));
    const env = { ACCESS_TOKEN_TTL_SECONDS: String(TTL_SECONDS) };
    const one = await startStack({ env: { ...env, AUTH_PRIVATE_KEY: first ?? "" } });
    const running: Stack[] = [one];
    try {
      const [kid] = await published(one);
      const two = await startStack({ twinOf: one, env: { ...env, AUTH_PRIVATE_KEY: second ?? "" } });
      running.unshift(two);
      const both = await published(two);
      expect([both.length, both[0]]).toEqual([2, kid]);
      await untilIs(2, async () => (await published(one)).length);
      const three = await startStack({ twinOf: one, env: { ...env, AUTH_PRIVATE_KEY: first ?? "" } });
      running.unshift(three);
      expect(await published(three)).toEqual(both);
      const { body } = await (await asAdmin(one)).get("/svc_audit", { filter: { event: "keys.rotated" } });
      expect(body.data).toMatchObject([{ userId: null, details: { kid: both[1], by: "start" } }]);
    } finally {
      for (const each of running) await each.stop();
    }
  });

  it("made elsewhere, with another ENCRYPTION_KEY, stops the start in clear words once it is another key's turn", async () => {
    await goBy(3_600_000);
    const other = {
      ENCRYPTION_KEY: "a".repeat(64),
      AUTH_PRIVATE_KEY: asText(generateKeyPairSync("ed25519").privateKey),
    };
    await expect(startStack({ twinOf: stack, env: other })).rejects.toThrow("ENCRYPTION_KEY");
  });
});
