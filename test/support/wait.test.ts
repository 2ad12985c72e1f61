// The wait itself: what it gives, and what it says when it was in vain.
import { expect, it } from "@jest/globals";
import { until } from "./wait.js";

it("gives what it has seen as soon as that is as wanted", async () => {
  let count = 0;
  expect(
    await until(
      () => ++count,
      (seen) => seen === 3,
    ),
  ).toBe(3);
  expect(await until(async () => count > 2)).toBe(true);
});

it("ends with what was asked for, and what that was at last", async () => {
  const half = { is: "half" };
  const look = () => half;
  await expect(until(look, ({ is }) => is === "whole", 30)).rejects.toThrow(
    'after 30 ms, () => half is {"is":"half"}',
  );
});
