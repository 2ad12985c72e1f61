// Where the bytes of files are stored: GridFS (mongo/gridfs-content) or an S3-compatible bucket (files/s3-content).
import type { ByteRange } from "./byte-range.js";

/** Bytes under keys. A key is written once, by one writer. */
export interface ContentStore {
  /** Takes bytes as they arrive, no faster than they can be stored. `remove` clears up what a failure leaves. */
  write(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** Gives bytes as they are asked for. @param range within the content; there is none of an empty one */
  read(key: string, range: ByteRange): AsyncIterable<Uint8Array>;
  /** What it has in memory of these bytes, which then need not be read; undefined unless it is all of them. */
  held?(key: string, range: ByteRange): Uint8Array | undefined;
  /** Removes all there is of it, finished or not; nothing there is no error. */
  remove(key: string): Promise<void>;
}
