// How large the keys of all relations of one query may be: they are sent in one command, for which MongoDB's limit is 16 MB.
import { calculateObjectSize } from "bson";
import type { Stored } from "../../catalog/column-types.js";

const MOST_BYTES = 4 * 1024 * 1024;

/** The room for one query's keys. */
export class KeyRoom {
  #left: number;

  constructor(bytes = MOST_BYTES) {
    this.#left = bytes;
  }

  /** @returns false when there is no room left for the keys: then the relation has to be joined */
  takes(keys: readonly Stored[]): boolean {
    const bytes = calculateObjectSize({ keys });
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }
}
