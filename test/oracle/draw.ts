// Decisions of the generators, made by fast-check so that a seed repeats them.
import fc from "fast-check";

export class Draw {
  readonly #value: fc.GeneratorValue;

  constructor(value: fc.GeneratorValue) {
    this.#value = value;
  }

  /** A whole number, both ends included. */
  int(min: number, max: number): number {
    return this.#value(fc.integer, { min, max });
  }

  chance(percent: number): boolean {
    return this.int(1, 100) > 100 - percent;
  }

  pick<Item>(items: readonly Item[]): Item {
    if (items.length === 0) throw new Error("nothing to pick from");
    return items[this.int(0, items.length - 1)] as Item;
  }

  /** One of the keys, as often as its weight says. */
  weighted<Key extends string>(weights: Readonly<Record<Key, number>>): Key {
    const keys = Object.keys(weights) as Key[];
    const total = keys.reduce((sum, key) => sum + weights[key], 0);
    let at = this.int(1, total);
    for (const key of keys) {
      at -= weights[key];
      if (at <= 0) return key;
    }
    throw new Error("no weights");
  }

  times<Item>(min: number, max: number, make: (at: number) => Item): Item[] {
    return Array.from({ length: this.int(min, max) }, (_, at) => make(at));
  }

  /** Some of the items, each once, in a drawn order. */
  some<Item>(items: readonly Item[], min: number, max: number): Item[] {
    const left = [...items];
    const taken: Item[] = [];
    const wanted = this.int(Math.min(min, items.length), Math.min(max, items.length));
    while (taken.length < wanted) taken.push(...left.splice(this.int(0, left.length - 1), 1));
    return taken;
  }
}

/** A generator written as plain code. */
export function drawn<Value>(make: (draw: Draw) => Value): fc.Arbitrary<Value> {
  return fc.gen().map((value) => make(new Draw(value)));
}

/** The one value of a seed. Unbiased here and elsewhere: the weights stand in the generators. */
export function fromSeed<Value>(arbitrary: fc.Arbitrary<Value>, seed: number): Value {
  const [value] = fc.sample(arbitrary, { seed, numRuns: 1, unbiased: true });
  if (value === undefined) throw new Error("nothing generated");
  return value;
}
