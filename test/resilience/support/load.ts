// Load of a fixed rate: it does not wait for answers, as the clients of the world don't.
import type { Outcome } from "./client.js";

export interface Load {
  readonly outcomes: readonly Outcome[];
  /** Starts no more requests. @returns all outcomes, once the last request has ended */
  stop(): Promise<readonly Outcome[]>;
}

/** How often it looks how many requests are due. */
const TICK_MS = 10;
/** A process that was held up catches up with this many at once, not with all it has missed. */
const MOST_AT_ONCE = 50;

/** @param send gets the number of the request */
export function startLoad(perSecond: number, send: (at: number) => Promise<Outcome>): Load {
  const outcomes: Outcome[] = [];
  const underWay = new Set<Promise<unknown>>();
  let began = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - began) / 1_000) * perSecond) - sent;
    if (due > MOST_AT_ONCE) began += ((due - MOST_AT_ONCE) / perSecond) * 1_000;
    for (let left = Math.min(due, MOST_AT_ONCE); left > 0; left -= 1) {
      const ended = send(sent++).then((outcome) => {
        outcomes.push(outcome);
        underWay.delete(ended);
      });
      underWay.add(ended);
    }
  }, TICK_MS);
  return {
    outcomes,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      return outcomes;
    },
  };
}

/** How many ended in which way. */
export function tally(outcomes: readonly Outcome[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { ended } of outcomes) counts[ended] = (counts[ended] ?? 0) + 1;
  return counts;
}

/** The time below which this part of the outcomes lies, in milliseconds. */
export function percentile(outcomes: readonly Outcome[], part: number): number {
  const times = outcomes.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? Number.NaN;
}
