// Is there space on the disk that holds the embedded database? The engine ends the process when there is none.
import { type AppError, unavailable } from "@portico/shared/app-error";

/** The disk that holds the database. */
export interface Disk {
  /** Its free bytes. */
  readonly free: () => Promise<number>;
  /** DISK_RESERVE_BYTES: what sign-ins, checkpoints and running requests may still need. */
  readonly reserveBytes: number;
}

/** Deleting may free space later, so that it goes on for longer; but it writes as well: what the table keeps, and links. */
export type SpaceUse = "writing" | "deleting";

/** Returns if there is space for a batch of work that nobody has announced. @throws AppError SERVICE_UNAVAILABLE */
export type RequireSpace = (use?: SpaceUse) => Promise<void>;

/** Space for requests that write many records without a body that says so. */
export interface BulkSpace {
  /** See AnnouncedSpace. */
  readonly isTight: () => Promise<boolean>;
  /**
   * Does work that writes so many bytes at most; nothing else relies on that space meanwhile.
   * @throws AppError SERVICE_UNAVAILABLE before it begins, when there is too little
   */
  readonly during: <Result>(bytes: number, use: SpaceUse, work: () => Promise<Result>) => Promise<Result>;
}

/** What deleting leaves of the disk, however much is to be kept from writing. */
const LEFT_BY_DELETES_BYTES = 128 * 1024 * 1024;
/**
 * How often the bytes of a record are written until the next checkpoint: into the engine's journal and into its table, and the
 * same for its history and for the changes of the table. Measured: twice for a table with neither, six times with both.
 */
export const WRITTEN_TIMES = 6;
/** With more than so many times the reserve, a request would write for many minutes before it is used up. */
const TIGHT_TIMES = 16;
/** How long one look at the disk counts for what is announced. */
const FRESH_MS = 1_000;

/** @param announced what is left to others of the free space */
export function spaceCheck(disk: Disk, announced?: Pick<AnnouncedSpace, "underWay">): RequireSpace {
  return async (use = "writing") => {
    const free = (await disk.free()) - (announced?.underWay ?? 0);
    if (free < leftBy(use, disk)) throw use === "deleting" ? full() : nearlyFull();
  };
}

/** Work that has said how much it will write: that is as good as used, so that no two rely on the same space. */
export class AnnouncedSpace {
  readonly #disk: Disk;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #seen = Promise.resolve(Number.POSITIVE_INFINITY);
  /** What was announced and the last look can't have seen: of this, some has been written since. */
  #unseen = 0;
  #written = 0;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** What is announced and not written yet. */
  get underWay(): number {
    return this.#unseen - this.#written;
  }

  /** Is so little left that it is worth looking for whatever a request writes? */
  async isTight(): Promise<boolean> {
    return (await this.#freeNow()) - this.#unseen < this.#disk.reserveBytes * TIGHT_TIMES;
  }

  /** Is there space for so much? @throws AppError SERVICE_UNAVAILABLE */
  async require(bytes: number, use: SpaceUse = "writing"): Promise<void> {
    this.#requireOf(await this.#freeNow(), bytes, use);
  }

  /** @returns what to call once it is written @throws AppError SERVICE_UNAVAILABLE when there is no space for it */
  async announce(bytes: number, use: SpaceUse = "writing"): Promise<() => void> {
    const free = await this.#freeNow();
    // In one go: others that are waiting for the same look come after it.
    this.#requireOf(free, bytes, use);
    this.#unseen += bytes;
    return () => {
      this.#written += bytes;
    };
  }

  #requireOf(free: number, bytes: number, use: SpaceUse): void {
    if (free - this.#unseen - bytes >= leftBy(use, this.#disk)) return;
    throw use === "deleting" ? tooMuch() : nearlyFull();
  }

  #freeNow(): Promise<number> {
    if (performance.now() - this.#lookedAt >= FRESH_MS) this.#seen = this.#look();
    return this.#seen;
  }

  async #look(): Promise<number> {
    const [began, visible] = [performance.now(), this.#written];
    // Nobody looks beside it: two would take off the same bytes, and the disk would seem to have more room for ever.
    this.#lookedAt = Number.POSITIVE_INFINITY;
    try {
      const free = await this.#disk.free();
      this.#unseen -= visible;
      this.#written -= visible;
      // Not the time of day, which may be set back: the last look would count until it has caught up.
      this.#lookedAt = began;
      return free;
    } catch (error) {
      this.#lookedAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }
}

/** How much is to stay free. */
function leftBy(use: SpaceUse, { reserveBytes }: Disk): number {
  return use === "writing" ? reserveBytes : Math.min(reserveBytes / 2, LEFT_BY_DELETES_BYTES);
}

function nearlyFull(): AppError {
  return unavailable(
    "The database's disk is nearly full: reading and deleting go on, writing does when there is room.",
    60,
  );
}

function full(): AppError {
  return unavailable("The database's disk is full: reading goes on, all else does when there is room.", 60);
}

function tooMuch(): AppError {
  return unavailable(
    "The database's disk is too full for all that this delete writes: first delete, some at a time, what goes along with the record, or end the links to it.",
    60,
  );
}
