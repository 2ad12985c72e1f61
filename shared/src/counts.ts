// How many there are of each name, and of all.

export class Counts {
  readonly #byName = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  of(name: string): number {
    return this.#byName.get(name) ?? 0;
  }

  /** Of all, where of each name no more than so many count. */
  upTo(mostOfOne: number): number {
    let sum = 0;
    for (const count of this.#byName.values()) sum += Math.min(count, mostOfOne);
    return sum;
  }

  /** Names of which none is left are forgotten. */
  add(name: string, change: number): void {
    this.#all += change;
    const count = this.of(name) + change;
    if (count > 0) this.#byName.set(name, count);
    else this.#byName.delete(name);
  }
}
