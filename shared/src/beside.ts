// Keeps something with an object that is not ours, such as a request.

/** What is kept with objects of one kind, under a name that nobody else has. */
export interface Beside<Holder extends object, Value> {
  get(holder: Holder): Value | undefined;
  set(holder: Holder, value: Value): void;
  delete(holder: Holder): void;
}

/**
 * Like a WeakMap, for objects that come and go thousands of times a second. Where what is kept leads back to its object, a
 * WeakMap holds both until V8's next full collection (decision 023); this goes with its object. Not for objects that are
 * copied with `{ ...object }`: the copy would bring it along.
 */
export function beside<Holder extends object, Value>(): Beside<Holder, Value> {
  const key = Symbol("beside");
  type Keeping = Holder & { [key]?: Value | undefined };
  return {
    get: (holder: Keeping) => holder[key],
    set: (holder: Keeping, value) => {
      holder[key] = value;
    },
    // Taken away, it would leave an object that V8 looks up in a table.
    delete: (holder: Keeping) => {
      holder[key] = undefined;
    },
  };
}
