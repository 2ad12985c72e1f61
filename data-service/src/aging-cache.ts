// Caches of what is good for a time, so that what is over does not stay until its room is needed.
import { type Clock, systemClock } from "@portico/shared/clock";
import { LRUCache } from "lru-cache";

/** Entries between two looks for what is over: a look costs each of them little, and none needs a timer. */
const LOOK_EVERY = 1_000;

export interface AgingCacheOptions {
  /** The most entries; the one that was not used for longest goes first. */
  readonly max: number;
  /** How long an entry is good. */
  readonly ttlMs: number;
  readonly clock?: Clock;
}

/** A bounded cache whose entries are given for `ttlMs` exactly, and are gone for good soon after. */
export function agingCache<Value extends NonNullable<unknown>>({
  max,
  ttlMs,
  clock = systemClock,
}: AgingCacheOptions): LRUCache<string, Value> {
  let added = 0;
  const cache = new LRUCache<string, Value>({
    max,
    ttl: ttlMs,
    // Exact ages: the default looks at the time once a millisecond at most, and tests move the clock.
    ttlResolution: 0,
    perf: { now: () => clock.now().getTime() },
    onInsert: () => {
      added += 1;
      if (added % LOOK_EVERY === 0) cache.purgeStale();
    },
  });
  return cache;
}
