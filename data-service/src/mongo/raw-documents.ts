// Documents as the database sends them. Decoded they take several times the memory, and the more time the smaller their values
// are, so large ones are decoded only as they are needed, and others are answered meanwhile.
import { BSON } from "mongodb";
import type { StoredRecord } from "../query/lower/document.js";
import { Stint } from "../stint.js";

/** How many documents are handed over together at most, and about how many bytes of them. */
const AT_ONCE = 50;
export const BYTES_AT_ONCE = 2 * 1024 * 1024;
/** connect.ts says why. */
const AS_THEY_COME = { validation: { utf8: false } } as const;

/** With more than this, decoding it takes so long that others wait. */
export const SMALL = 256 * 1024;

/** Documents of an answer, as they came where they may be large. */
export type Answered = StoredRecord[] | RawDocuments;

/** What the database says of a cursor that it has opened, out of its bytes. Many at once are decoded faster than each alone. */
export function answered(cursor: Uint8Array): { readonly id: unknown; readonly documents: Answered } {
  const isSmall = cursor.length <= SMALL;
  const options = isSmall ? AS_THEY_COME : { ...AS_THEY_COME, fieldsAsRaw: { firstBatch: true } };
  const { id, firstBatch } = BSON.deserialize(cursor, options);
  return { id, documents: isSmall ? firstBatch : new RawDocuments(firstBatch) };
}

/** Are they too large to be held all at once when they are decoded? */
export function areLarge(documents: Answered | undefined): documents is RawDocuments {
  return documents instanceof RawDocuments && documents.bytes > BYTES_AT_ONCE;
}

/** All of them, decoded. */
export async function allOf(documents: Answered | undefined): Promise<StoredRecord[] | undefined> {
  return documents instanceof RawDocuments ? documents.all() : documents;
}

export class RawDocuments {
  readonly #raw: readonly Uint8Array[];
  /** What they take in memory as they are. */
  readonly bytes: number;

  constructor(raw: readonly Uint8Array[]) {
    this.#raw = raw;
    this.bytes = raw.reduce((sum, { length }) => sum + length, 0);
  }

  get length(): number {
    return this.#raw.length;
  }

  /** All of them, decoded. */
  async all(): Promise<StoredRecord[]> {
    return decoded(this.#raw, new Stint());
  }

  /**
   * Some at a time, decoded when they are asked for.
   * @param stint of all that is made of them
   * @param bytesAtOnce about that many, of one document at least
   */
  async *some(stint = new Stint(), bytesAtOnce = BYTES_AT_ONCE): AsyncGenerator<readonly StoredRecord[]> {
    for (let from = 0, to = 0; from < this.length; from = to) {
      to = this.#endOfPiece(from, bytesAtOnce);
      yield await decoded(this.#raw.slice(from, to), stint);
    }
  }

  /** Where the piece ends that begins there; it holds one document at least. */
  #endOfPiece(from: number, bytesAtOnce: number): number {
    let bytes = 0;
    for (let at = from; at < Math.min(from + AT_ONCE, this.length); at += 1) {
      bytes += this.#raw[at]?.length ?? 0;
      if (bytes > bytesAtOnce && at > from) return at;
    }
    return Math.min(from + AT_ONCE, this.length);
  }
}

async function decoded(raw: readonly Uint8Array[], stint: Stint): Promise<StoredRecord[]> {
  const documents: StoredRecord[] = [];
  for (const each of raw) {
    if (stint.isLong) await stint.end();
    documents.push(BSON.deserialize(each, AS_THEY_COME));
  }
  return documents;
}
