// How large the keys of all relations may be. Those of a filter and of row rules are sent in one command, for which MongoDB's
// limit is 16 MB.
import { calculateObjectSize } from "bson";
import type { Stored } from "../../catalog/stored.js";

const MOST_BYTES = 4 * 1024 * 1024;

/** The room for the keys of a filter, or of all row rules of a query: neither takes it from the other. */
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
