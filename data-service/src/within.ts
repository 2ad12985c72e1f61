// Waits for a limited time.

/**
 * Waits for work, but not forever; the work goes on in any case.
 * @returns whether it has ended in time
 * @throws what the work throws meanwhile; whatever it throws later is for others who wait for it
 */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms), false);
  });
  const ended = work.then(() => true);
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}
