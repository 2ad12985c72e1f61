// Bounded caches whose entries expire; expired ones are removed before their space is needed.
import { type Clock, steadyTime, systemClock } from "@portico/shared/clock";
import { LRUCache } from "lru-cache";

/** Insertions between two searches for expired entries: this spreads the cost of a search, and needs no timer. */
const LOOK_EVERY = 1_000;

export interface AgingCacheOptions {
  /** The most entries; the least recently used one is dropped first. */
  readonly max: number;
  /** How long an entry is valid. */
  readonly ttlMs: number;
  readonly clock?: Clock;
}

/** A bounded cache whose entries are served for exactly `ttlMs`, and removed soon after. */
export function agingCache<Value extends NonNullable<unknown>>({
  max,
  ttlMs,
  clock = systemClock,
}: AgingCacheOptions): LRUCache<string, Value> {
  let added = 0;
  const cache = new LRUCache<string, Value>({
    max,
    ttl: ttlMs,
    // Exact ages: by default the cache reads the time once a millisecond at most, and tests move the clock.
    ttlResolution: 0,
    perf: { now: steadyTime(clock) },
    onInsert: () => {
      added += 1;
      if (added % LOOK_EVERY === 0) cache.purgeStale();
    },
  });
  return cache;
}
