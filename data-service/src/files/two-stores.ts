// A bucket for a database that may hold contents as well, from before the bucket was configured: what is new goes to the bucket,
// and what is older stays where it is.
import type { ByteRange } from "./byte-range.js";
import { ContentMissing, type ContentStore } from "./content-store.js";

/** @param former is asked only for what the first does not have */
export function withFormer(store: ContentStore, former: ContentStore): ContentStore {
  return {
    write: (key, bytes) => store.write(key, bytes),
    mayStillLand: (error) => store.mayStillLand(error),
    read: (key, range) => reading(store, former, key, range),
    async remove(key) {
      await former.remove(key);
      await store.remove(key);
    },
  };
}

async function* reading(
  store: ContentStore,
  former: ContentStore,
  key: string,
  range: ByteRange,
): AsyncGenerator<Uint8Array> {
  let refusal: unknown;
  try {
    return yield* store.read(key, range);
  } catch (error) {
    if (!(error instanceof ContentMissing)) {
      if (store.mayLack?.(error) !== true) throw error;
      refusal = error;
    }
  }
  try {
    yield* former.read(key, range);
  } catch (error) {
    // What the first has said holds: it may have these bytes after all.
    throw refusal !== undefined && error instanceof ContentMissing ? refusal : error;
  }
}
