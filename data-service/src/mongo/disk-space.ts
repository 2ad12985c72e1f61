// Checks for free disk space under an embedded database while much is written: by a change of a table, by filling the index of
// a searchable column, by uploads, by deletes that take along others.
import type { Db } from "mongodb";
import type { AnnouncedSpace, BulkSpace } from "../space-check.js";

/**
 * The engine keeps changed pages in its cache until a checkpoint. Only a checkpoint after this much tells how much space is
 * left, and only a checkpoint frees what former versions of the records took.
 */
const FLUSH_BYTES = 64 * 1024 * 1024;

export interface DiskSpace {
  /** Call it before each write. @throws when the disk is nearly full */
  readonly require: () => Promise<void>;
  /** Tell it how much was written, so that the next answer is right. */
  readonly written: (bytes: number) => Promise<void>;
}

/** @param require looks at the disk; throws when it is nearly full */
export function makeDiskSpace(db: Db, require: () => Promise<void>): DiskSpace {
  let unflushed = 0;
  return {
    require,
    async written(bytes) {
      unflushed += bytes;
      if (unflushed < FLUSH_BYTES) return;
      unflushed = 0;
      await db.admin().command({ fsync: 1 });
    },
  };
}

/** Large work ends with a checkpoint where space is tight: before that, the disk would seem to have more than it leaves. */
export function makeBulkSpace(db: Db, announced: Pick<AnnouncedSpace, "announce" | "isTight">): BulkSpace {
  const flush = async (): Promise<void> => {
    if (await announced.isTight()) await db.admin().command({ fsync: 1 });
  };
  return {
    isTight: () => announced.isTight(),
    async during(bytes, use, work) {
      const written = await announced.announce(bytes, use);
      try {
        return await work();
      } finally {
        // What was done stays done, whatever becomes of this.
        if (bytes >= FLUSH_BYTES) await flush().catch(() => undefined);
        written();
      }
    },
  };
}
