// How many records of a stream are completed at once, by what those before them have shown.
import { describe, expect, it } from "@jest/globals";
import { Pace } from "./pace.js";
import { NoRoom } from "./room.js";

/** How many are read at once, in turn, when each shows so many. */
function turns(pace: Pace, related: number, count: number): number[] {
  return Array.from({ length: count }, () => {
    const { next } = pace;
    pace.learn(next, { records: next * related });
    return next;
  });
}

describe("records that may show thousands of others", () => {
  it("are read by themselves at first, and fifty at once when it is seen that they show few", () => {
    expect(turns(new Pace(27_000), 3, 8)).toEqual([1, 2, 4, 8, 16, 32, 50, 50]);
    expect(turns(new Pace(27_000), 0, 8).at(-1)).toBe(50);
  });

  it("are read as many as before when the last that came together were few", () => {
    const pace = new Pace(27_000);
    turns(pace, 3, 7);
    pace.learn(2, { records: 6 });
    expect(pace.next).toBe(50);
  });

  it("are read by themselves as long as they do show thousands", () => {
    const pace = new Pace(27_000);
    expect(turns(pace, 27_000, 3)).toEqual([1, 1, 1]);
    expect(turns(pace, 4_000, 5)).toEqual([1, 2, 4, 5, 5]);
    expect(turns(pace, 27_000, 2)).toEqual([5, 1]);
  });

  it("have room for all that one of them shows, and of several for less, so that these are soon refused", () => {
    const pace = new Pace(27_000);
    const take = (count: number) => {
      const room = pace.roomFor(count);
      for (let record = 0; record < 27_000; record += 1) room.take(1);
      return room.records;
    };
    expect(take(1)).toBe(27_000);
    expect(() => take(2)).toThrow(NoRoom);
  });
});

it("records that can show few are read by as many as are sure to have room", () => {
  expect(turns(new Pace(10), 10, 2)).toEqual([2_000, 2_000]);
  expect(() => {
    const room = new Pace(10).roomFor(2_000);
    for (let record = 0; record < 40_000; record += 1) room.take(1);
  }).not.toThrow();
});

it("records that may show any number are read by a few, whatever those before them have shown", () => {
  for (const related of [0, 100_000])
    expect(turns(new Pace(Number.POSITIVE_INFINITY), related, 3)).toEqual([10, 10, 10]);
});
