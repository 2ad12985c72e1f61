// Waiting for what comes to be so in its own time: asked again and again, up to a limit that says what it was instead.
import { setTimeout as delay } from "node:timers/promises";

const LOOK_MS = 25;
/** Less than a test may take, so that its failure says what was waited for. */
const WITHIN_MS = 60_000;

/**
 * Waits until something holds.
 * @param holds without it, what is seen is true or not
 * @returns what was seen when it held
 * @throws what was seen last, when it does not hold in time
 */
export async function until<Seen>(
  look: () => Seen | Promise<Seen>,
  holds: (seen: Seen) => boolean = Boolean,
  withinMs = WITHIN_MS,
): Promise<Seen> {
  const began = performance.now();
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (performance.now() - began > withinMs)
      throw new Error(`after ${withinMs} ms, ${look} is ${JSON.stringify(seen)}`);
    await delay(LOOK_MS);
  }
}
