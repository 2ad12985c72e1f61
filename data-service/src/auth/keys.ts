// The keys that sign and verify access tokens: one signs at a time, all verify until their last token has expired.
import { createPublicKey, type KeyObject } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, type JWK } from "jose";

/** What the makers and checkers of tokens ask. */
export interface KeyRing {
  /** The key for tokens of this second. It is the same on every instance, so that a repeated token has the same bytes. */
  signingAt(issuedAtSeconds: number): Promise<{ readonly kid: string; readonly key: KeyObject }>;
  /** The public key of this name, if its tokens are still accepted. */
  verifying(kid: string, now: Date): Promise<KeyObject | undefined>;
  /** The public keys, for `/.well-known/jwks.json` (RFC 7517). */
  jwks(now: Date): Promise<{ readonly keys: readonly JWK[] }>;
}

/** A key and when its turn begins; it ends when the next one's begins. */
export interface RingKey {
  readonly kid: string;
  readonly activeFrom: Date;
  readonly publicKey: KeyObject;
  /** Undefined for a key that can only verify. */
  readonly privateKey: KeyObject | undefined;
  readonly jwk: JWK;
}

/**
 * The most that ACCESS_TOKEN_TTL_SECONDS may be. Tokens are judged by it: another instance, or this one before its last start, may
 * let them live longer than this one does.
 */
export const LONGEST_LIFE_SECONDS = 3_600;

/** How long after the end of a key's turn its tokens may still arrive: their life, and differing clocks. */
export function overlapMs(ttlSeconds: number): number {
  const SKEW_SECONDS = 30;
  return (ttlSeconds + SKEW_SECONDS) * 1000;
}

/**
 * Names a key by its RFC 7638 thumbprint, so that every instance gives it the same name. @throws for anything but Ed25519
 */
export async function ringKey(anyHalf: KeyObject, activeFrom: Date): Promise<RingKey> {
  const publicKey = anyHalf.type === "public" ? anyHalf : createPublicKey(anyHalf);
  const { kty, crv, x } = await exportJWK(publicKey);
  if (kty !== "OKP" || crv !== "Ed25519" || x === undefined) throw new Error("not an Ed25519 key");
  const kid = await calculateJwkThumbprint({ kty, crv, x });
  const privateKey = anyHalf.type === "private" ? anyHalf : undefined;
  return { kid, activeFrom, publicKey, privateKey, jwk: { kty, crv, x, kid, use: "sig", alg: "EdDSA" } };
}

/** Keys in the order of their turns; even two that begin at the same moment have a fixed order. */
export function inTurn(keys: readonly RingKey[]): readonly RingKey[] {
  return keys.toSorted(
    (one, other) => one.activeFrom.getTime() - other.activeFrom.getTime() || (one.kid < other.kid ? -1 : 1),
  );
}

/**
 * The key that signs: the one whose turn it is. Where its private half is gone, as for a clock that was set back, it is the
 * next one that has its own, which is believed before its turn.
 * @param turns as returned by `inTurn`
 */
export function keyAt(turns: readonly RingKey[], at: Date): RingKey | undefined {
  const begun = turns.findLastIndex(({ activeFrom }) => activeFrom <= at);
  return turns.slice(Math.max(begun, 0)).find(({ privateKey }) => privateKey !== undefined);
}

/** The keys whose tokens are still accepted, and those whose turn is yet to come. */
export function believedAt(turns: readonly RingKey[], now: Date, overlap: number): readonly RingKey[] {
  return turns.filter((_key, at) => {
    const next = turns[at + 1];
    return next === undefined || next.activeFrom.getTime() + overlap > now.getTime();
  });
}
