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

/** What deleting leaves of the disk, however much is to be kept from writing. */
const LEFT_BY_DELETES_BYTES = 128 * 1024 * 1024;

export function spaceCheck({ free, reserveBytes }: Disk): RequireSpace {
  return async (use = "writing") => {
    const bytes = await free();
    if (bytes >= reserveBytes) return;
    if (use === "writing") throw nearlyFull();
    if (bytes < Math.min(reserveBytes / 2, LEFT_BY_DELETES_BYTES)) throw full();
  };
}

export function nearlyFull(): AppError {
  return unavailable(
    "The database's disk is nearly full: reading and deleting go on, writing does when there is room.",
    60,
  );
}

function full(): AppError {
  return unavailable("The database's disk is full: reading goes on, all else does when there is room.", 60);
}
