// Where the bytes of files are stored: GridFS (mongo/gridfs-content) or an S3-compatible bucket (files/s3-content).
import { AppError } from "@portico/shared/app-error";
import type { ByteRange } from "./byte-range.js";

/** There are no such bytes, or not all of them. For a client, such a file is not there. */
export class ContentMissing extends AppError {
  readonly key: string;

  constructor(key: string, cause: unknown) {
    super("NOT_FOUND", { message: "The content of this file is missing.", cause });
    this.key = key;
  }
}

/** Bytes under keys. A key is written once, by one writer. */
export interface ContentStore {
  /** Takes bytes as they arrive, no faster than they can be stored. After a failure `remove` cleans up. */
  write(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** May bytes come although writing them failed like this? A command whose answer was lost can be under way for a while. */
  mayStillLand(error: unknown): boolean;
  /**
   * Gives bytes as they are asked for; fails with ContentMissing where there are none.
   * @param range within the content; an empty content has none
   */
  read(key: string, range: ByteRange): AsyncIterable<Uint8Array>;
  /** May a read have failed like this because there are no such bytes? Not every store tells everybody. */
  mayLack?(error: unknown): boolean;
  /** These bytes, if all of them are in memory and need not be read; otherwise undefined. */
  held?(key: string, range: ByteRange): Uint8Array | undefined;
  /** Removes whatever there is of it, finished or not; it is no error if there is nothing. */
  remove(key: string): Promise<void>;
}
