// Time as a port, so that tests can move it.

/** Tells the time. */
export interface Clock {
  now(): Date;
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => new Date() };

/** Milliseconds to measure ages with, by a clock that may be set back: they then go on from where they were. */
export function steadyTime(clock: Clock): () => number {
  let [last, skipped] = [clock.now().getTime(), 0];
  return () => {
    const now = clock.now().getTime();
    skipped += Math.max(0, last - now);
    last = now;
    return now + skipped;
  };
}
