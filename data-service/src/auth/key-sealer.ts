// Encrypts the private halves of signing keys for the database: JWE, AES-256-GCM (RFC 7516, RFC 7518).
import { hkdfSync } from "node:crypto";
import { CompactEncrypt, compactDecrypt } from "jose";

const PURPOSE = "portico signing keys";
const KEY_BYTES = 32;

export interface KeySealer {
  seal(text: string): Promise<string>;
  /** Undefined when it was sealed with another key or is damaged. */
  open(sealed: string): Promise<string | undefined>;
}

/** @param encryptionKey 32 bytes; the key is derived from it (HKDF, RFC 5869) for this purpose alone */
export function makeKeySealer(encryptionKey: Buffer): KeySealer {
  const key = new Uint8Array(hkdfSync("sha256", encryptionKey, "", PURPOSE, KEY_BYTES));
  return {
    seal: (text) =>
      new CompactEncrypt(new TextEncoder().encode(text))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
        .encrypt(key),
    async open(sealed) {
      const options = { keyManagementAlgorithms: ["dir"], contentEncryptionAlgorithms: ["A256GCM"] };
      return compactDecrypt(sealed, key, options).then(
        ({ plaintext }) => new TextDecoder().decode(plaintext),
        () => undefined,
      );
    },
  };
}
