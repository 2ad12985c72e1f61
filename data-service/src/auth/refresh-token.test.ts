// Refresh tokens: what they say, and that nobody else can write one.
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { makeRefreshTokens } from "./refresh-token.js";
import { isSessionId } from "./session.js";

const tokens = makeRefreshTokens(randomBytes(32));
const sessionId = randomBytes(16).toString("base64url");
const genuine = tokens.write({ sessionId, generation: 7 });

const anyClaims = fc.record({
  sessionId: fc
    .uint8Array({ minLength: 16, maxLength: 16 })
    .map((bytes) => Buffer.from(bytes).toString("base64url")),
  generation: fc.nat({ max: 2 ** 32 - 1 }),
});

describe("refresh tokens", () => {
  it("say again what was written, and the same token for the same claims", () => {
    fc.assert(
      fc.property(anyClaims, (claims) => {
        expect(isSessionId(claims.sessionId)).toBe(true);
        expect(tokens.read(tokens.write(claims))).toEqual(claims);
        expect(tokens.write(claims)).toBe(tokens.write(claims));
      }),
    );
  });

  it("fit into a cookie as they are", () => {
    expect(genuine).toMatch(/^svc_rt_[\w-]{70}$/);
  });

  it("are refused after any change of any character", () => {
    fc.assert(
      fc.property(
        fc.nat({ max: genuine.length - 1 }),
        fc.string({ minLength: 1, maxLength: 1 }),
        (at, other) => {
          fc.pre(genuine[at] !== other);
          expect(tokens.read(genuine.slice(0, at) + other + genuine.slice(at + 1))).toBeUndefined();
        },
      ),
    );
  });

  it("are refused in every other spelling of the same bytes", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(genuine.slice(-1));
    for (let spareBits = 1; spareBits < 16; spareBits += 1) {
      const twin = genuine.slice(0, -1) + alphabet[last + spareBits];
      expect(Buffer.from(twin.slice(7), "base64url")).toEqual(Buffer.from(genuine.slice(7), "base64url"));
      expect(tokens.read(twin)).toBeUndefined();
    }
  });

  it.each([
    ["nothing", ""],
    ["no prefix", genuine.slice(7)],
    ["padding", `${genuine}==`],
    ["a line end", `${genuine}\n`],
    ["space in front", ` ${genuine}`],
    ["one character short", genuine.slice(0, -1)],
    ["more behind", `${genuine}A`],
    ["no MAC", genuine.slice(0, 7 + 27)],
    ["a JSON cookie", 'j:{"$ne":null}'],
    ["another purpose", genuine.replace("svc_rt_", "svc_pat_")],
  ])("are refused with %s", (_name, text) => {
    expect(tokens.read(text)).toBeUndefined();
  });

  it("of another key are refused", () => {
    expect(makeRefreshTokens(randomBytes(32)).read(genuine)).toBeUndefined();
  });

  it("do not lend their MAC to another session or generation", () => {
    const mac = Buffer.from(genuine.slice(7), "base64url").subarray(20);
    const named = Buffer.alloc(20);
    named.write(sessionId, "base64url");
    named.writeUInt32BE(8, 16);
    expect(tokens.read(`svc_rt_${Buffer.concat([named, mac]).toString("base64url")}`)).toBeUndefined();
  });
});
