// Access tokens: JWTs (RFC 7519) in the profile of RFC 9068, signed with Ed25519 (RFC 8037).
import { hash } from "node:crypto";
import { AppError } from "@portico/shared/app-error";
import { errors, type JWTPayload, jwtVerify, type ProtectedHeaderParameters, SignJWT } from "jose";
import { agingCache } from "./aging-cache.js";
import { type KeyRing, LONGEST_LIFE_SECONDS } from "./keys.js";
import { isSessionId } from "./session.js";

const ALGORITHM = "EdDSA";
const TYPE = "at+jwt";
const AUDIENCE = "portico";
/** The clocks of several instances differ a little. Never more than the token's own life. */
const MAX_SKEW_SECONDS = 30;
/** Ours have about 500; anything longer is refused before it costs a parse. */
const MAX_CHARACTERS = 2048;
/**
 * Compact JWS with an Ed25519 signature, unpadded and canonical: decoders forgive more, which would give one token several
 * spellings.
 */
const FORM = /^[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]$/;

/**
 * Tokens whose signature is known to be good: the same one comes with every request of its session, and verifying it costs a
 * trip through the thread pool. The least recently seen one is dropped first.
 */
const MOST_VERIFIED = 10_000;

/** What a token says, besides who signed it and for whom. */
export interface AccessClaims {
  /** The user's id. */
  readonly userId: string;
  readonly sessionId: string;
  /** The web origin the session was made for; null when no browser made it. */
  readonly origin: string | null;
}

/** Signs and verifies. */
export interface AccessTokens {
  /** Seconds from `issuedAt` to expiry. */
  readonly ttlSeconds: number;
  /** The same claims and second always give the same bytes: clients that refresh at once get one and the same token. */
  sign(claims: AccessClaims, issuedAtSeconds: number): Promise<string>;
  /** @throws AppError TOKEN_EXPIRED for one of ours that has expired, INVALID_TOKEN for anything else */
  verify(token: string, now: Date): Promise<AccessClaims>;
}

/** A token's payload, and the key that signed it. The token itself names that key, so what was proved stays true. */
interface Verified {
  readonly payload: JWTPayload;
  readonly kid: string;
}

/** @param issuer APP_URL */
export function makeAccessTokens(keys: KeyRing, issuer: string, ttlSeconds: number): AccessTokens {
  const skew = Math.min(MAX_SKEW_SECONDS, ttlSeconds);
  const verified = agingCache<Verified>({ max: MOST_VERIFIED, ttlMs: ttlSeconds * 1000 });
  return {
    ttlSeconds,
    async sign({ userId, sessionId, origin }, iat) {
      const claims = { iss: issuer, aud: AUDIENCE, sub: userId, sid: sessionId };
      const payload = { ...claims, ...(origin === null ? {} : { origin }), iat, exp: iat + ttlSeconds };
      const { kid, key } = await keys.signingAt(iat);
      return new SignJWT(payload).setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid }).sign(key);
    },
    async verify(token, now) {
      if (token.length > MAX_CHARACTERS || !FORM.test(token)) throw invalid();
      const name = hash("sha256", token, "base64");
      const known = verified.get(name);
      // Time passes and keys retire: expiry and key are checked every time, as for a new token.
      if (known !== undefined && isBefore(now, known.payload.exp) && (await keys.verifying(known.kid, now)))
        return readClaims(known.payload, now, skew);
      const { payload, protectedHeader } = await jwtVerify(token, (header) => keyFor(keys, header, now), {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer,
        audience: AUDIENCE,
        requiredClaims: ["exp", "iat", "sub", "sid"],
        clockTolerance: skew,
        currentDate: now,
      }).catch((error: unknown) => {
        throw refusal(error);
      });
      const claims = readClaims(payload, now, skew);
      verified.set(name, { payload, kid: String(protectedHeader.kid) });
      return claims;
    },
  };
}

function isBefore(now: Date, seconds: number | undefined): boolean {
  return seconds !== undefined && now.getTime() < seconds * 1000;
}

/** Tokens carry exactly our three header parameters; `jku`, `jwk`, `x5c`, `crit`, `zip` and the like are refused. */
async function keyFor(keys: KeyRing, header: ProtectedHeaderParameters, now: Date) {
  const expected = Object.keys(header).every((name) => name === "alg" || name === "typ" || name === "kid");
  // jose types it as text, but it is whatever the sender wrote.
  const { kid }: { kid?: unknown } = header;
  if (!expected || typeof kid !== "string") throw invalid();
  const key = await keys.verifying(kid, now);
  if (key === undefined) throw invalid();
  return key;
}

function refusal(error: unknown): AppError {
  // jose compares expiry only after signature, type, issuer and audience, so this is one of ours.
  if (error instanceof errors.JWTExpired) return new AppError("TOKEN_EXPIRED");
  return error instanceof AppError ? error : invalid(error);
}

/** The checks that jose leaves to us: a single audience, a limited life, no token from the future, well-formed ids. */
function readClaims(payload: JWTPayload, now: Date, skew: number): AccessClaims {
  const { aud, sub, sid, origin, iat, exp } = payload;
  const times = typeof iat === "number" && typeof exp === "number";
  const sane = times && exp - iat <= LONGEST_LIFE_SECONDS && iat <= now.getTime() / 1000 + skew;
  if (!sane || aud !== AUDIENCE) throw invalid();
  if (typeof sub !== "string" || !/^[0-9a-f]{24}$/.test(sub)) throw invalid();
  if (typeof sid !== "string" || !isSessionId(sid)) throw invalid();
  if (origin !== undefined && typeof origin !== "string") throw invalid();
  return { userId: sub, sessionId: sid, origin: origin ?? null };
}

function invalid(cause?: unknown): AppError {
  return new AppError("INVALID_TOKEN", { cause });
}
