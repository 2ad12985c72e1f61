// How much may be read at once for one answer, or for one part of a stream.
import { AppError } from "@portico/shared/app-error";

const MOST_BYTES = 32 * 1024 * 1024;

/** The refusal of what is too large to be held at once; whoever can read less at once tries that first. */
export class NoRoom extends AppError {
  constructor() {
    super(
      "BAD_REQUEST",
      "The answer holds too many related records; ask for fewer records, fields or related records.",
    );
  }
}

export class Room {
  #left = MOST_BYTES;

  /** @throws NoRoom when there is not so much left */
  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new NoRoom();
  }

  /** Of what has been taken and is held no longer. */
  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}

/**
 * Reads some, and in halves what has no room together.
 * @throws NoRoom when one alone has none
 */
export async function* inRoom<Item, Read>(
  items: readonly Item[],
  read: (some: readonly Item[]) => Promise<readonly Read[]>,
): AsyncGenerator<readonly Read[]> {
  const all = await read(items).catch((error: unknown) => {
    if (items.length > 1 && error instanceof NoRoom) return undefined;
    throw error;
  });
  if (all !== undefined) return yield all;
  const half = Math.ceil(items.length / 2);
  yield* inRoom(items.slice(0, half), read);
  yield* inRoom(items.slice(half), read);
}
