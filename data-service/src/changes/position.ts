// A place in the journal <-> the `id:` of an event. Encrypted (AES-256-GCM), because it would tell how much others write.
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto";
import type { Table } from "../catalog/catalog.js";
import type { Position } from "../mongo/journal-store.js";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** Those of the largest safe integer. */
const NUMBER_DIGITS = 16;
/** Far longer than any position is. */
const MOST_CHARACTERS = 200;
/** Positions written by earlier versions name no reader, and before that no epoch either; they belong to the first one. */
const TEXT = /^(\d{1,16}) ([0-9a-f]{24})?(?: (\d{1,16})(?: ([\w-]+))?)?$/;

/** A place in the journal of this table. */
export interface Place {
  readonly position: Position;
  /** After a place from an earlier epoch there may be a gap. */
  readonly epoch: number;
  /** By whose rights all before it was told, see `readerOf`; undefined where an earlier version has written it. */
  readonly reader: string | undefined;
}

/** So much of a hash that no two callers share it. */
const READER_CHARACTERS = 22;

/**
 * Names what a caller is to rules for reading: a position is good for those alone who would have been told the same before it.
 * @param reader by `Rights.reader`
 */
export function readerOf(reader: string): string {
  return hash("sha256", reader, "base64url").slice(0, READER_CHARACTERS);
}

export interface Positions {
  /** A position of one table is not valid for another. */
  write(position: Position, table: Pick<Table, "id" | "journalEpoch">, reader: string): string;
  /** Undefined for anything that this system has not written for this table. */
  read(text: string, table: Pick<Table, "id">): Place | undefined;
}

/** @param encryptionKey ENCRYPTION_KEY; the key used is derived from it for this purpose alone */
export function makePositions(encryptionKey: Buffer): Positions {
  const key = Buffer.from(hkdfSync("sha256", encryptionKey, "", "portico journal positions", KEY_BYTES));
  return {
    write({ number, entry }, { id, journalEpoch }, reader) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(id));
      // The length is not encrypted: the number has all of its digits.
      const plain = `${String(number).padStart(NUMBER_DIGITS, "0")} ${entry} ${journalEpoch} ${reader}`;
      const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
    },
    read(text, { id }) {
      const bytes = Buffer.from(text.slice(0, MOST_CHARACTERS), "base64url");
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
      const opened = open(key, bytes, id);
      const [, number, entry = "", epoch = "0", reader] = TEXT.exec(opened ?? "") ?? [];
      if (number === undefined) return undefined;
      return { position: { number: Number(number), entry }, epoch: Number(epoch), reader };
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
