// Encrypted columns: AES-256-GCM around the value's JSON, bound to its table and column.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Json } from "@portico/shared/json";
import { Binary } from "bson";
import type { Column } from "../../catalog/catalog.js";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Sealer {
  seal(value: Json, column: Column): Binary;
  unseal(sealed: Binary, column: Column): Json;
}

/** @param encryptionKey ENCRYPTION_KEY; the key used is derived from it for this purpose alone */
export function makeSealer(encryptionKey: Buffer): Sealer {
  const key = Buffer.from(hkdfSync("sha256", encryptionKey, "", "portico encrypted columns", 32));
  return {
    seal(value, column) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(column.id));
      const text = Buffer.concat([cipher.update(JSON.stringify(value), "utf8"), cipher.final()]);
      return new Binary(Buffer.concat([nonce, cipher.getAuthTag(), text]));
    },
    unseal(sealed, column) {
      const bytes = Buffer.from(sealed.value());
      const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
      cipher.setAAD(Buffer.from(column.id));
      cipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const text =
        cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + cipher.final("utf8");
      const json: Json = JSON.parse(text);
      return json;
    },
  };
}
