// Calls with a few of them in flight at a time, answers in the order of the items.
const IN_FLIGHT = 8;

export async function inParallel<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const work = async () => {
    for (const [at, item] of queue) results[at] = await act(item);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  return results;
}
