// Waiting that has an end.

/**
 * Waits for work, but not for ever; the work goes on all the same.
 * @returns whether it has ended in time
 * @throws what the work throws meanwhile; what it throws later is for whoever else waits for it
 */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms), false);
  });
  const ended = work.then(() => true);
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}
