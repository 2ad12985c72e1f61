// A place in the journal <-> the `id:` of an event. Encrypted, for it would tell how much others write: AES-256-GCM.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Position } from "../mongo/journal-store.js";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** Far longer than any position is. */
const MOST_CHARACTERS = 200;
const TEXT = /^(\d{1,16}) ([0-9a-f]{24})?$/;

export interface Positions {
  /** @param table the table's id: a position of one table is none of another */
  write(position: Position, table: string): string;
  /** Undefined for what this system has not written for this table. */
  read(text: string, table: string): Position | undefined;
}

/** @param encryptionKey ENCRYPTION_KEY; the key used is derived from it for this purpose alone */
export function makePositions(encryptionKey: Buffer): Positions {
  const key = Buffer.from(hkdfSync("sha256", encryptionKey, "", "portico journal positions", KEY_BYTES));
  return {
    write({ number, entry }, table) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(table));
      const text = Buffer.concat([cipher.update(`${number} ${entry}`, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
    },
    read(text, table) {
      const bytes = Buffer.from(text.slice(0, MOST_CHARACTERS), "base64url");
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
      const opened = open(key, bytes, table);
      const [, number, entry = ""] = TEXT.exec(opened ?? "") ?? [];
      return number === undefined ? undefined : { number: Number(number), entry };
    },
  };
}

function open(key: Buffer, bytes: Buffer, table: string): string | undefined {
  try {
    const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
    cipher.setAAD(Buffer.from(table));
    cipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + cipher.final("utf8");
  } catch {
    return undefined;
  }
}
