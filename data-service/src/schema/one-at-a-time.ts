// Runs tasks one after the other, in the order they came.

/** Resolves or rejects as the task does; a failed task holds up nobody. */
export type Queue = <Result>(task: () => Promise<Result>) => Promise<Result>;

export function oneAtATime(): Queue {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const result = last.then(task, task);
    last = result;
    return result;
  };
}
