// Waits for whoever reads what is written.
import { once } from "node:events";
import type { Writable } from "node:stream";

/**
 * Waits until a destination that was full takes more.
 * @param patienceMs how long that may take; without it, any time
 * @returns false when the reader has gone, or has not read for too long
 */
export async function drained(destination: Writable, patienceMs?: number): Promise<boolean> {
  const waiting = new AbortController();
  const giveUp = (): void => waiting.abort();
  const late = patienceMs === undefined ? undefined : setTimeout(giveUp, patienceMs).unref();
  destination.once("close", giveUp);
  try {
    await once(destination, "drain", { signal: waiting.signal });
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(late);
    destination.off("close", giveUp);
  }
}
