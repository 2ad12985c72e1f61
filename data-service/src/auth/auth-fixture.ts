// What the unit tests of auth/ share: a throttle that admits everything, an audit log in memory, keys that never change.
import type { KeyObject } from "node:crypto";
import type { AuditEvent, AuditLog } from "./audit.js";
import { type KeyRing, ringKey } from "./keys.js";
import type { Throttle } from "./throttle.js";

/** Refuses nothing. */
export const openThrottle: Throttle = {
  admitSignIn: async () => ({ succeeded: async () => {}, failed: async () => {}, withdraw: async () => {} }),
  admitRefresh: async () => ({ withdraw: async () => {} }),
  admitOAuthStart: async () => {},
  admitRequest: async () => {},
};

/** Keeps what is recorded. */
export function memoryAudit(): { readonly audit: AuditLog; readonly events: AuditEvent[] } {
  const events: AuditEvent[] = [];
  const recordAll = async (all: readonly AuditEvent[]): Promise<void> => void events.push(...all);
  return { events, audit: { recordAll, record: (event) => recordAll([event]) } };
}

/**
 * A ring that never changes.
 * @param signing an Ed25519 private key
 * @param retired Ed25519 keys, private or public, whose tokens are still accepted
 */
export async function makeKeyRing(signing: KeyObject, retired: readonly KeyObject[] = []): Promise<KeyRing> {
  const all = await Promise.all([signing, ...retired].map((key) => ringKey(key, new Date(0))));
  const [current] = all;
  if (current === undefined) throw new Error("a key ring needs a signing key");
  // A Map, so that a hostile `kid` such as `__proto__` is just absent.
  const byName = new Map(all.map(({ kid, publicKey }) => [kid, publicKey]));
  return {
    signingAt: async () => ({ kid: current.kid, key: signing }),
    verifying: async (kid) => byName.get(kid),
    jwks: async () => ({ keys: all.map(({ jwk }) => jwk) }),
  };
}
