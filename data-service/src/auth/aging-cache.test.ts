// A cache whose entries age: what it gives, shares and forgets, and when.
import { beforeEach, describe, expect, it } from "@jest/globals";
import { agingCache } from "./aging-cache.js";

let time: number;
let cache: ReturnType<typeof agingCache<object>>;

beforeEach(() => {
  time = 1_000_000;
  cache = agingCache<object>({ max: 5_000, ttlMs: 5_000, clock: { now: () => new Date(time) } });
});

const add = (prefix: string, count: number): void => {
  for (let at = 0; at < count; at += 1) cache.set(`${prefix}${at}`, {});
};

describe("a cache whose entries age", () => {
  it("gives an entry until its time is over", () => {
    cache.set("a", {});
    time += 5_000;
    expect(cache.get("a")).toEqual({});
    time += 1;
    expect(cache.get("a")).toBeUndefined();
  });

  it("gives none for longer because the clock is set back", () => {
    cache.set("a", {});
    time -= 3_600_000;
    expect(cache.get("a")).toEqual({});
    time += 5_001;
    expect(cache.get("a")).toBeUndefined();
  });

  it("does not hold what is over until its room is needed", () => {
    add("old", 2_500);
    time += 5_001;
    add("new", 1_000);
    expect(cache.size).toBe(1_000);
  });

  it("holds what is good, up to its size", () => {
    add("a", 6_000);
    expect([cache.size, cache.has("a999"), cache.has("a1000")]).toEqual([5_000, false, true]);
  });
});
