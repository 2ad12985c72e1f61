// Keeps something with an object that is not ours, such as a request.

/** What is kept with objects of one kind, under a key that nobody else has. */
export interface Beside<Holder extends object, Value> {
  get(holder: Holder): Value | undefined;
  set(holder: Holder, value: Value): void;
  delete(holder: Holder): void;
}

/**
 * Like a WeakMap, for objects that come and go thousands of times a second. If a value refers back to its object, a WeakMap
 * holds both until V8's next full collection (decision 023); here the value goes with its object. Not for objects that are
 * copied with `{ ...object }`: the copy would carry the value along.
 */
export function beside<Holder extends object, Value>(): Beside<Holder, Value> {
  const key = Symbol("beside");
  type Keeping = Holder & { [key]?: Value | undefined };
  return {
    get: (holder: Keeping) => holder[key],
    set: (holder: Keeping, value) => {
      holder[key] = value;
    },
    // Deleting the property would make V8 turn the object into a slow dictionary.
    delete: (holder: Keeping) => {
      holder[key] = undefined;
    },
  };
}
