// How well times tell two groups apart. Pure.

export interface Separation {
  /**
   * The chance that a guess by a threshold is right: that of one time from each group the one of the group that is
   * slower on the whole is the longer one. 0.5 tells nothing, 1 everything.
   */
  readonly auc: number;
  /** Standard error of the area if the groups do not differ: what noise alone makes of it. */
  readonly error: number;
}

/** Area under the ROC curve by ranks (Mann and Whitney), on whichever side of one half it lies. */
export function separation(one: readonly number[], other: readonly number[]): Separation {
  const pairs = one.length * other.length;
  if (pairs === 0) throw new Error("two groups of times, neither empty");
  const ranks = rankSum(one, other);
  const area = (ranks - (one.length * (one.length + 1)) / 2) / pairs;
  const error = Math.sqrt((one.length + other.length + 1) / (12 * pairs));
  return { auc: Math.max(area, 1 - area), error };
}

/** The sum of the ranks of `one` among all; equal times share the mean of their ranks. */
function rankSum(one: readonly number[], other: readonly number[]): number {
  const all = [...tagged(one, 1), ...tagged(other, 0)].sort((a, b) => a.time - b.time);
  let sum = 0;
  for (let from = 0, to = 0; from < all.length; from = to) {
    while (all[to]?.time === all[from]?.time && to < all.length) to += 1;
    const meanRank = (from + 1 + to) / 2;
    for (const { own } of all.slice(from, to)) sum += own * meanRank;
  }
  return sum;
}

function tagged(times: readonly number[], own: 0 | 1): { time: number; own: 0 | 1 }[] {
  return times.map((time) => ({ time, own }));
}

/** The middle one, or the mean of both in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(half) - 1, Math.floor(half) + 1);
  return (low + high) / 2;
}
