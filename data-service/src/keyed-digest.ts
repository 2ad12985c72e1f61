// A digest that can be searched for only with the key: for values that may be short or secret, such as addresses and bodies.
import { createHmac, hkdfSync } from "node:crypto";

/** Base64url, 43 characters. */
export type KeyedDigest = (text: string) => string;

const KEY_BYTES = 32;

/**
 * @param encryptionKey 32 bytes; the key is derived from it (HKDF, RFC 5869) for this purpose alone
 * @param purpose a text that no other digest uses
 */
export function makeKeyedDigest(encryptionKey: Buffer, purpose: string): KeyedDigest {
  const key = Buffer.from(hkdfSync("sha256", encryptionKey, "", purpose, KEY_BYTES));
  return (text) => createHmac("sha256", key).update(text).digest("base64url");
}
