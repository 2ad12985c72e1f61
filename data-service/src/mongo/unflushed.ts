// Writes that leave it to a later one to wait for the disk.
import type { WriteConcernSettings } from "mongodb";

/**
 * How to write what a later write brings to the disk with it: a journal keeps no write without those before it. But only
 * within one life of the server: one that was killed and is back takes the later write without them. So the engine has to end
 * with this process; before any other server each write waits for itself.
 */
export function unflushed(isEmbedded: boolean): { readonly writeConcern?: WriteConcernSettings } {
  return isEmbedded ? { writeConcern: { w: 1, journal: false } } : {};
}
