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

  /** Names of which none is left are forgotten. */
  add(name: string, change: number): void {
    this.#all += change;
    const count = this.of(name) + change;
    if (count > 0) this.#byName.set(name, count);
    else this.#byName.delete(name);
  }
}
