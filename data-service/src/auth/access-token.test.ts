// Access tokens: their claims, how long they are good, and which are not believed (contract 3.1).
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { AppError } from "@portico/shared/app-error";
import { type AccessTokens, makeAccessTokens } from "./access-token.js";
import { makeKeyRing } from "./auth-fixture.js";
import type { KeyRing } from "./keys.js";

const ISSUER = "https://app.example.com";
const NOW = 1_750_000_000;
const now = new Date(NOW * 1000);
const CLAIMS = {
  userId: "64b000000000000000000001",
  sessionId: "AAAAAAAAAAAAAAAAAAAAAA",
  origin: "https://app.example.com",
};
const key = generateKeyPairSync("ed25519").privateKey;
const evil = generateKeyPairSync("ed25519").privateKey;

let ring: KeyRing;
let tokens: AccessTokens;
let kid: string;
let header: Record<string, unknown>;
const payload = {
  iss: ISSUER,
  aud: "portico",
  sub: CLAIMS.userId,
  sid: CLAIMS.sessionId,
  origin: CLAIMS.origin,
  iat: NOW,
  exp: NOW + 900,
};

beforeAll(async () => {
  ring = await makeKeyRing(key);
  tokens = makeAccessTokens(ring, ISSUER, 900);
  ({ kid } = await ring.signingAt(NOW));
  header = { alg: "EdDSA", typ: "at+jwt", kid };
});

const encode = (part: unknown): string =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");

/** Signs whatever it is given, as a thief of the signing key could. */
function forge(head: unknown, body: unknown, signer: KeyObject = key): string {
  const signed = `${encode(head)}.${encode(body)}`;
  return `${signed}.${sign(null, Buffer.from(signed), signer).toString("base64url")}`;
}

async function codeOf(token: string, at = now): Promise<string> {
  try {
    await tokens.verify(token, at);
    return "accepted";
  } catch (error) {
    return error instanceof AppError ? error.code : `not an AppError: ${String(error)}`;
  }
}

describe("access tokens", () => {
  it("carry the claims of the contract and give them back", async () => {
    const token = await tokens.sign(CLAIMS, NOW);
    const [head = "", body = ""] = token.split(".");
    expect(JSON.parse(Buffer.from(head, "base64url").toString())).toEqual(header);
    expect(JSON.parse(Buffer.from(body, "base64url").toString())).toEqual(payload);
    expect(await tokens.verify(token, now)).toEqual(CLAIMS);
  });

  it("are the same bytes for the same claims and second", async () => {
    expect(await tokens.sign(CLAIMS, NOW)).toBe(await tokens.sign(CLAIMS, NOW));
    expect(await tokens.sign(CLAIMS, NOW)).toBe(forge(header, payload));
  });

  it("without an origin have no such claim", async () => {
    const token = await tokens.sign({ ...CLAIMS, origin: null }, NOW);
    expect(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).not.toContain("origin");
    expect((await tokens.verify(token, now)).origin).toBeNull();
  });

  it("signed with the previous key verify while it is published", async () => {
    const old = await makeAccessTokens(await makeKeyRing(evil), ISSUER, 900).sign(CLAIMS, NOW);
    expect(await codeOf(old)).toBe("INVALID_TOKEN");
    const rotated = makeAccessTokens(await makeKeyRing(key, [createPublicKey(evil)]), ISSUER, 900);
    expect(await rotated.verify(old, now)).toEqual(CLAIMS);
  });

  it.each([
    ["J002 20 s over, within the skew", NOW - 20, "accepted"],
    ["29 s over", NOW - 29, "accepted"],
    ["J050 31 s over", NOW - 31, "TOKEN_EXPIRED"],
    ["J049 an hour over", NOW - 3600, "TOKEN_EXPIRED"],
  ])("with exp %s", async (_name, exp, expected) => {
    expect(await codeOf(forge(header, { ...payload, iat: exp - 900, exp }))).toBe(expected);
  });

  it("are never accepted longer after expiry than they lived", async () => {
    const brief = makeAccessTokens(ring, ISSUER, 2);
    const token = await brief.sign(CLAIMS, NOW);
    await expect(brief.verify(token, new Date((NOW + 3) * 1000))).resolves.toEqual(CLAIMS);
    await expect(brief.verify(token, new Date((NOW + 4) * 1000))).rejects.toMatchObject({
      code: "TOKEN_EXPIRED",
    });
  });

  it("of instances that let them live longer or shorter are accepted, as long as any may live", async () => {
    const brief = makeAccessTokens(ring, ISSUER, 300);
    expect(await brief.verify(await tokens.sign(CLAIMS, NOW), now)).toEqual(CLAIMS);
    expect(await tokens.verify(await brief.sign(CLAIMS, NOW), now)).toEqual(CLAIMS);
    expect(await codeOf(forge(header, { ...payload, exp: NOW + 3_600 }))).toBe("accepted");
    expect(await codeOf(forge(header, { ...payload, exp: NOW + 3_601 }))).toBe("INVALID_TOKEN");
  });

  it("J003 from a clock 20 s ahead are accepted", async () => {
    expect(await codeOf(forge(header, { ...payload, iat: NOW + 20, nbf: NOW + 20 }))).toBe("accepted");
  });

  const without = (name: string) =>
    Object.fromEntries(Object.entries(payload).filter(([key]) => key !== name));
  const BAD_PAYLOADS: [string, unknown][] = [
    ["J051 exp missing", without("exp")],
    ["J052 exp as text", { ...payload, exp: "9999999999" }],
    ["J053 exp in milliseconds", { ...payload, exp: NOW * 1000 }],
    ["J054 exp 1e400", JSON.stringify(payload).replace(`"exp":${NOW + 900}`, '"exp":1e400')],
    ["J054 exp as the text NaN", { ...payload, exp: "NaN" }],
    ["J054 exp null", { ...payload, exp: null }],
    ["J054 exp a list", { ...payload, exp: [1] }],
    ["iat missing", without("iat")],
    ["iat as text", { ...payload, iat: String(NOW) }],
    ["iat -1e400", JSON.stringify(payload).replace(`"iat":${NOW}`, '"iat":-1e400')],
    ["J056 iat one hour ahead", { ...payload, iat: NOW + 3600, exp: NOW + 4000 }],
    ["J057 a life of ten years", { ...payload, exp: NOW + 315_360_000 }],
    ["nbf one hour ahead", { ...payload, nbf: NOW + 3600 }],
    ["J062 aud missing", without("aud")],
    ["aud of somebody else", { ...payload, aud: "other" }],
    ["aud a list with ours", { ...payload, aud: ["portico", "other"] }],
    ["iss missing", without("iss")],
    ["iss of somebody else", { ...payload, iss: "https://evil.example.com" }],
    ["J063 sub missing", without("sub")],
    ["J063 sub empty", { ...payload, sub: "" }],
    ["J063 sub null", { ...payload, sub: null }],
    ["sub an operator", { ...payload, sub: { $ne: null } }],
    ["sid missing", without("sid")],
    ["sid not canonical", { ...payload, sid: "AAAAAAAAAAAAAAAAAAAAAB" }],
    ["sid an operator", { ...payload, sid: { $ne: null } }],
    ["origin a number", { ...payload, origin: 1 }],
    ["J070 a list", []],
    ["J070 a text", '"x"'],
    ["J070 a number", 1],
    ["J070 null", null],
    ["J071 no JSON", "abc"],
  ];
  it.each(BAD_PAYLOADS)("correctly signed but with %s are refused", async (_name, body) => {
    expect(await codeOf(forge(header, body))).toBe("INVALID_TOKEN");
  });

  it("J054 exp in the year 1969 is just over", async () => {
    expect(await codeOf(forge(header, { ...payload, exp: -1 }))).toBe("TOKEN_EXPIRED");
  });

  const BAD_HEADERS: [string, () => Record<string, unknown>][] = [
    ["J005–J009 alg none", () => ({ ...header, alg: "none" })],
    ["alg nOnE", () => ({ ...header, alg: "nOnE" })],
    ["alg 'none '", () => ({ ...header, alg: "none " })],
    ["J013 no alg", () => ({ typ: "at+jwt", kid })],
    ["J015 alg an object", () => ({ ...header, alg: { a: 1 } })],
    ["alg Ed25519, an alias we do not use", () => ({ ...header, alg: "Ed25519" })],
    ["J026 alg ES256", () => ({ ...header, alg: "ES256" })],
    ["J030 no kid", () => ({ alg: "EdDSA", typ: "at+jwt" })],
    ["J031 an unknown kid", () => ({ ...header, kid: "nope" })],
    ["J032 kid a path", () => ({ ...header, kid: "../../../../dev/null" })],
    ["kid __proto__", () => ({ ...header, kid: "__proto__" })],
    ["J037 kid a list", () => ({ ...header, kid: [0] })],
    ["kid a list with ours", () => ({ ...header, kid: [kid] })],
    ["kid a number", () => ({ ...header, kid: 0 })],
    ["J038 kid of 1 MB", () => ({ ...header, kid: "a".repeat(1_048_576) })],
    ["J039 an embedded key", () => ({ ...header, jwk: createPublicKey(key).export({ format: "jwk" }) })],
    ["J040 a key address", () => ({ ...header, jku: "http://127.0.0.1:9/jwks.json" })],
    ["J043 an unknown crit", () => ({ ...header, crit: ["zzz"], zzz: 1 })],
    ["crit b64", () => ({ ...header, crit: ["b64"], b64: false })],
    ["J045 zip", () => ({ ...header, zip: "DEF" })],
    ["typ JWT", () => ({ ...header, typ: "JWT" })],
    ["no typ", () => ({ alg: "EdDSA", kid })],
  ];
  it.each(BAD_HEADERS)("correctly signed but with %s are refused", async (_name, head) => {
    expect(await codeOf(forge(head(), payload))).toBe("INVALID_TOKEN");
  });

  it("J021 with a changed payload under the old signature are refused", async () => {
    const [head, , signature] = (await tokens.sign(CLAIMS, NOW)).split(".");
    expect(
      await codeOf(`${head}.${encode({ ...payload, sub: "64b0000000000000000000ff" })}.${signature}`),
    ).toBe("INVALID_TOKEN");
  });

  it("J023 J024 J028 signed by HMAC with guesses or the public key are refused", async () => {
    const publicKey = createPublicKey(key);
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    const guesses = [
      "",
      "secret",
      "changeme",
      pem,
      pem.trim(),
      JSON.stringify(publicKey.export({ format: "jwk" })),
    ];
    for (const guess of guesses) {
      const signed = `${encode({ ...header, alg: "HS256" })}.${encode(payload)}`;
      const token = `${signed}.${createHmac("sha256", guess).update(signed).digest("base64url")}`;
      expect(await codeOf(token)).toBe("INVALID_TOKEN");
    }
  });

  it("with a damaged or missing signature, in other forms, or far too long are refused", async () => {
    const token = await tokens.sign(CLAIMS, NOW);
    const [head, body, signature = ""] = token.split(".");
    const flipped = Buffer.from(signature, "base64url");
    flipped.writeUInt8(flipped.readUInt8(5) ^ 1, 5);
    const bad = [
      `${head}.${body}.${flipped.toString("base64url")}`,
      `${head}.${body}.${signature.slice(0, 43)}`,
      `${head}.${body}.${"A".repeat(86)}`,
      `${head}.${body}.`,
      `${head}.${body}`,
      `${head}`,
      `${token}.${signature}`,
      `${token}.a.b`,
      // The last character has four spare bits.
      ...[1, 2, 3].map(
        (step) => token.slice(0, -1) + String.fromCharCode(token.charCodeAt(token.length - 1) + step),
      ),
      `${token}=`,
      `${token}\n`,
      `${token.slice(0, 40)}\0${token.slice(40)}`,
      forge(header, payload, evil),
      "",
      "..",
      "svc_rt_abc",
      "a".repeat(102_400),
    ];
    for (const each of bad)
      expect([each.slice(0, 60), await codeOf(each)]).toEqual([each.slice(0, 60), "INVALID_TOKEN"]);
  });

  it("are refused in one text, whatever was wrong", async () => {
    const texts = new Set<string>();
    for (const bad of ["x", forge({ ...header, kid: "nope" }, payload), forge(header, without("sub"))]) {
      await tokens.verify(bad, now).catch((error: Error) => texts.add(error.message));
    }
    expect([...texts]).toEqual(["The token is not valid."]);
  });
});

describe("a token that was verified before", () => {
  it("is over when its time has come", async () => {
    const token = await tokens.sign(CLAIMS, NOW);
    expect(await codeOf(token)).toBe("accepted");
    expect(await codeOf(token, new Date((NOW + 899) * 1000))).toBe("accepted");
    expect(await codeOf(token, new Date((NOW + 931) * 1000))).toBe("TOKEN_EXPIRED");
  });

  it("is refused as soon as the ring no longer believes its key", async () => {
    let isBelieved = true;
    const retiring: KeyRing = {
      ...ring,
      verifying: async (name, at) => (isBelieved ? ring.verifying(name, at) : undefined),
    };
    const ours = makeAccessTokens(retiring, ISSUER, 900);
    const token = await ours.sign(CLAIMS, NOW);
    expect(await ours.verify(token, now)).toEqual(CLAIMS);
    isBelieved = false;
    await expect(ours.verify(token, now)).rejects.toMatchObject({ code: "INVALID_TOKEN" });
  });

  it("vouches for no other signature or payload", async () => {
    const token = await tokens.sign(CLAIMS, NOW);
    expect(await codeOf(token)).toBe("accepted");
    const [head, , signature = ""] = token.split(".");
    const other = encode({ ...payload, sub: "64b000000000000000000002" });
    expect(await codeOf(`${head}.${other}.${signature}`)).toBe("INVALID_TOKEN");
    expect(await codeOf(token.replace(signature, `${"A".repeat(85)}A`))).toBe("INVALID_TOKEN");
  });
});

describe("the key ring", () => {
  it("publishes public halves only, under their thumbprints", async () => {
    const { keys } = await (await makeKeyRing(key, [evil])).jwks(now);
    expect(keys).toHaveLength(2);
    for (const jwk of keys) {
      expect(Object.keys(jwk).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x"]);
      expect(jwk.kid).toMatch(/^[\w-]{43}$/);
    }
  });

  it("takes no other kind of key", async () => {
    await expect(makeKeyRing(generateKeyPairSync("x25519").privateKey)).rejects.toThrow("not an Ed25519 key");
  });
});
