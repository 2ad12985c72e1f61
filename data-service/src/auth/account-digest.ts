// Normalised e-mail -> a keyed digest that names the account without telling the address.
import { makeKeyedDigest } from "../keyed-digest.js";

const PURPOSE = "portico account digest";

/** A digest of an address: the same on every instance, whether or not anybody owns it. */
export type AccountDigest = (email: string) => string;

/**
 * Counters and the audit log use only this for addresses that nobody owns: what somebody types into a sign-in form may be a
 * stranger's address, or a password in the wrong field.
 * @param encryptionKey 32 bytes; the key is derived from it (HKDF, RFC 5869) for this purpose alone
 */
export function makeAccountDigest(encryptionKey: Buffer): AccountDigest {
  const digest = makeKeyedDigest(encryptionKey, PURPOSE);
  return (email) => digest(email).slice(0, 22);
}
