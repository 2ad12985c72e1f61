// For how many records of a stream the related ones are read at once: for as many as are sure to have room, and for more
// while those before them had far fewer related records than they might.
import { PARENTS_AT_ONCE } from "./read-page.js";
import { Room } from "./room.js";

/** Related records of a stream that are held at once, where so few are enough for several of its records. */
const RELATED_AT_ONCE = 20_000;
/** The most, however few related records they have: the database sends no more at a time. */
const MOST_AT_ONCE = 50;

export class Pace {
  readonly #sure: number;
  readonly #most: number;
  #next: number;

  /** @param mostRelated the most that one record may show; where nothing limits them, only their bytes say what has room */
  constructor(mostRelated: number) {
    const isBounded = Number.isFinite(mostRelated);
    this.#sure = isBounded ? Math.max(1, Math.floor(RELATED_AT_ONCE / mostRelated)) : PARENTS_AT_ONCE;
    this.#most = isBounded ? Math.max(this.#sure, MOST_AT_ONCE) : this.#sure;
    this.#next = this.#sure;
  }

  /** How many to read next. */
  get next(): number {
    return this.#next;
  }

  /** For the related records of so many. More of them than are sure to have room are refused before much is read. */
  roomFor(count: number): Room {
    return new Room(count, count > this.#sure ? RELATED_AT_ONCE : undefined);
  }

  /** @param room what the related records of so many took */
  learn(count: number, { records }: Pick<Room, "records">): void {
    const fitting = Math.floor((count * RELATED_AT_ONCE) / records);
    // The last ones of a batch may be few: what was seen before them still holds.
    const wanted = Math.max(this.#next, 2 * count);
    this.#next = Math.max(this.#sure, Math.min(fitting, wanted, this.#most));
  }
}
