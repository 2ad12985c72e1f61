// A digest that nobody can look for without the key: of what may be short or secret, such as addresses and bodies.
import { createHmac, hkdfSync } from "node:crypto";

/** Base64url, 43 characters. */
export type KeyedDigest = (text: string) => string;

const KEY_BYTES = 32;

/**
 * @param encryptionKey 32 bytes; the key is derived from it (HKDF, RFC 5869) for this purpose alone
 * @param purpose what no other digest is made for
 */
export function makeKeyedDigest(encryptionKey: Buffer, purpose: string): KeyedDigest {
  const key = Buffer.from(hkdfSync("sha256", encryptionKey, "", purpose, KEY_BYTES));
  return (text) => createHmac("sha256", key).update(text).digest("base64url");
}
