// Long work in the event loop: who goes on when.
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, it, jest } from "@jest/globals";
import { Stint } from "./stint.js";

afterEach(() => void jest.restoreAllMocks());

it("work is long after a while, and not any more when others had their turn", async () => {
  const now = jest.spyOn(performance, "now").mockReturnValue(1_000);
  const stint = new Stint();
  expect(stint.isLong).toBe(false);
  now.mockReturnValue(1_020);
  expect(stint.isLong).toBe(true);
  await stint.end();
  expect(stint.isLong).toBe(false);
});

it("of all that is under way only one step is made before others have their turn", async () => {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    if (turns < 100) setImmediate(count);
  };
  setImmediate(count);
  const seen = await Promise.all(
    [1, 2, 3, 4, 5].map(async () => {
      await new Stint().end();
      return turns;
    }),
  );
  expect(new Set(seen).size).toBe(5);
});

it("the oldest work goes on first, whenever it has waited last", async () => {
  const done: string[] = [];
  const work = async (name: string, stint: Stint): Promise<void> => {
    for (let step = 1; step <= 3; step += 1) {
      await stint.end();
      done.push(`${name}${step}`);
    }
  };
  const old = new Stint();
  await delay(2);
  await Promise.all([work("young", new Stint()), work("old", old)]);
  expect(done).toEqual(["old1", "old2", "old3", "young1", "young2", "young3"]);
});
