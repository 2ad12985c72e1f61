// Keeps small contents that were asked for lately in memory: everybody who opens a page asks for its pictures. A key is
// written only once, so what was read under it stays true; who may have it is checked before, each time.
import { Readable } from "node:stream";
import { ENTRY_BYTES } from "@portico/shared/entry-bytes";
import { LRUCache } from "lru-cache";
import type { ByteRange } from "./byte-range.js";
import type { ContentStore } from "./content-store.js";

/** Larger ones are never held as a whole. */
const LARGEST_BYTES = 256 * 1024;
const MOST_BYTES = 32 * 1024 * 1024;
/** What is read and not yet read to its end may take together, while clients read slowly. */
const MOST_UNENDED_BYTES = 8 * 1024 * 1024;
/** Content that another instance has removed stays here no longer than this. */
const LIFE_MS = 5 * 60_000;

/**
 * @param bytes how much is kept in all, with what keeping takes
 * @param mostUnended how much of what is being read is held meanwhile; what is beyond that is not kept
 */
export function withRecent(
  store: ContentStore,
  bytes = MOST_BYTES,
  mostUnended = MOST_UNENDED_BYTES,
): ContentStore {
  /** Contents, or the beginnings of some. */
  const recent = new LRUCache<string, Buffer>({
    maxSize: bytes,
    sizeCalculation: ({ length }) => ENTRY_BYTES + length,
    ttl: LIFE_MS,
  });
  let unended = 0;
  const held = (key: string, range: ByteRange): Uint8Array | undefined => {
    const known = recent.get(key);
    return known && range.end < known.length ? known.subarray(range.start, range.end + 1) : undefined;
  };
  return {
    write: (key, content) => store.write(key, content),
    mayStillLand: (error) => store.mayStillLand(error),
    held,
    read(key, range) {
      const known = held(key, range);
      if (known !== undefined) return Readable.from([known]);
      if (range.start > 0 || range.end >= LARGEST_BYTES) return store.read(key, range);
      const length = range.end + 1;
      if (unended + length > mostUnended) return store.read(key, range);
      // Counted at once: many may ask before the first of them is read.
      unended += length;
      return Readable.from(reading(store, key, range, (content) => void recent.set(key, content))).once(
        "close",
        () => {
          unended -= length;
        },
      );
    },
    async remove(key) {
      recent.delete(key);
      await store.remove(key);
    },
  };
}

/** @param done gets all of it, if it is read to its end */
async function* reading(
  store: ContentStore,
  key: string,
  range: ByteRange,
  done: (content: Buffer) => void,
): AsyncGenerator<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of store.read(key, range)) {
    pieces.push(piece);
    yield piece;
  }
  // A copy: otherwise everything that the database sent with it would stay in memory, too.
  done(Buffer.concat(pieces));
}
