// A small random source with a seed (mulberry32): the same seed tells the same story every time.

export interface SeededRandom {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** A whole number between the two, both inclusive. */
  integer(low: number, high: number): number;
  /** True this often: `chance(0.1)` is true one time in ten. */
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** A new array with the same members in another order. */
  shuffle<Item>(items: readonly Item[]): Item[];
}

export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  function integer(low: number, high: number): number {
    return low + Math.floor(next() * (high - low + 1));
  }

  function pick<Item>(items: readonly Item[]): Item {
    const item = items[integer(0, items.length - 1)];
    if (item === undefined) throw new Error("Nothing to pick from");
    return item;
  }

  function shuffle<Item>(items: readonly Item[]): Item[] {
    const keyed = items.map((item) => ({ item, place: next() }));
    return keyed.sort((left, right) => left.place - right.place).map((entry) => entry.item);
  }

  return { next, integer, chance: (probability) => next() < probability, pick, shuffle };
}
