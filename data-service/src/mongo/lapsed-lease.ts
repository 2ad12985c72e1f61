// When a lease is over that nobody has renewed.
import type { Document } from "../query/lower/document.js";

/**
 * Of documents that have the end of a lease in this field: whose lease has run out, or ends later than any that was given lately.
 * By clocks that differ by less than the longest lease none does, unless the clock was set back after it was given.
 * @param longestMs of all leases that are given
 */
export function hasLapsed(field: string, now: Date, longestMs: number): Document {
  const neverYet = new Date(now.getTime() + 2 * longestMs);
  return { $or: [{ [field]: { $lte: now } }, { [field]: { $gt: neverYet } }] };
}
