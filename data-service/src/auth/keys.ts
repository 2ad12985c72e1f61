// The keys that sign and verify access tokens: one signs, all verify until their last token has expired.
import { createPublicKey, type KeyObject } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, type JWK } from "jose";

/** The signing key and every key still believed, by `kid`. */
export interface KeyRing {
  readonly signing: { readonly kid: string; readonly key: KeyObject };
  /** A Map, so that a hostile `kid` such as `__proto__` is just absent. */
  readonly verifying: ReadonlyMap<string, KeyObject>;
  /** The public halves, for `/.well-known/jwks.json` (RFC 7517). */
  jwks(): { readonly keys: readonly JWK[] };
}

/**
 * Builds the ring. A key's id is its RFC 7638 thumbprint, so every instance names it alike.
 * @param signing an Ed25519 private key
 * @param retired Ed25519 keys, private or public, whose tokens may not have expired yet
 */
export async function makeKeyRing(signing: KeyObject, retired: readonly KeyObject[] = []): Promise<KeyRing> {
  const published = await Promise.all([signing, ...retired].map(publish));
  const [current] = published;
  if (current === undefined) throw new Error("a key ring needs a signing key");
  return Object.freeze({
    signing: { kid: current.kid, key: signing },
    verifying: new Map(published.map(({ kid, key }) => [kid, key])),
    jwks: () => ({ keys: published.map(({ jwk }) => jwk) }),
  });
}

async function publish(anyHalf: KeyObject): Promise<{ kid: string; key: KeyObject; jwk: JWK }> {
  const key = anyHalf.type === "public" ? anyHalf : createPublicKey(anyHalf);
  const { kty, crv, x } = await exportJWK(key);
  if (kty !== "OKP" || crv !== "Ed25519" || x === undefined) throw new Error("not an Ed25519 key");
  const kid = await calculateJwkThumbprint({ kty, crv, x });
  return { kid, key, jwk: { kty, crv, x, kid, use: "sig", alg: "EdDSA" } };
}
