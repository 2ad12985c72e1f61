// Is there space on the disk that holds the embedded database? The engine ends the process when there is none.
import { type AppError, unavailable } from "@portico/shared/app-error";

/** The disk that holds the database. */
export interface Disk {
  /** Its free bytes. */
  readonly free: () => Promise<number>;
  /** DISK_RESERVE_BYTES: what sign-ins, checkpoints and running requests may still need. */
  readonly reserveBytes: number;
}

/** Returns if there is space for a batch of background work. @throws AppError SERVICE_UNAVAILABLE */
export type RequireSpace = () => Promise<void>;

export function spaceCheck({ free, reserveBytes }: Disk): RequireSpace {
  return async () => {
    if ((await free()) < reserveBytes) throw nearlyFull();
  };
}

export function nearlyFull(): AppError {
  return unavailable(
    "The database's disk is nearly full: reading and deleting go on, writing does when there is room.",
    60,
  );
}
