// How much may be read at once for one answer, or for one part of a stream.
import { AppError } from "@portico/shared/app-error";

const MOST_BYTES = 32 * 1024 * 1024;
/** For one record, which can't be read in parts. */
const MOST_BYTES_OF_ONE = 4 * MOST_BYTES;

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
  #bytesLeft: number;
  #records = 0;
  readonly #mostRecords: number;

  /** @param parents for how many records the related ones are read */
  constructor(
    parents: number,
    mostRecords = Number.POSITIVE_INFINITY,
    mostBytes = parents > 1 ? MOST_BYTES : MOST_BYTES_OF_ONE,
  ) {
    this.#mostRecords = mostRecords;
    this.#bytesLeft = mostBytes;
  }

  /** How many are held. */
  get records(): number {
    return this.#records;
  }

  /** For one record; the first has room, however large: nobody could ask for less. @throws NoRoom when there is not so much left */
  take(bytes: number): void {
    this.#bytesLeft -= bytes;
    this.#records += 1;
    const isTooMuch = this.#bytesLeft < 0 && this.#records > 1;
    if (isTooMuch || this.#records > this.#mostRecords) throw new NoRoom();
  }

  /** Of records that have been taken and are held no longer. */
  giveBack(bytes: number, records: number): void {
    this.#bytesLeft += bytes;
    this.#records -= records;
  }
}

/**
 * Reads some, and in halves what has no room together. What was read is held no longer than something is made of it: the next
 * of it has that room.
 * @throws NoRoom when one alone has none
 */
export async function* inRoom<Item, Read, Made>(
  items: readonly Item[],
  read: (some: readonly Item[]) => Promise<Read>,
  make: (read: Read) => AsyncIterable<Made>,
): AsyncGenerator<Made> {
  const all = await read(items).catch((error: unknown) => {
    if (items.length > 1 && error instanceof NoRoom) return undefined;
    throw error;
  });
  if (all !== undefined) return yield* make(all);
  const half = Math.ceil(items.length / 2);
  yield* inRoom(items.slice(0, half), read, make);
  yield* inRoom(items.slice(half), read, make);
}
