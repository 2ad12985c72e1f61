import { expect, it } from "@jest/globals";
import { SlotQueue } from "./slot-queue.js";

it("runs two at once, lets two wait, refuses the fifth, and goes on after a failure", async () => {
  const queue = new SlotQueue(2, 2);
  const running = { now: 0, most: 0 };
  const release: (() => void)[] = [];
  const task = (fails: boolean) => () => {
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    return new Promise<void>((resolve, reject) => {
      release.push(() => {
        running.now -= 1;
        if (fails) reject(new Error("failed"));
        else resolve();
      });
    });
  };
  const runs = [true, false, false, false].map((fails) => queue.run(task(fails)));
  await expect(queue.run(task(false))).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  const ended = Promise.allSettled(runs);
  while (release.length > 0) {
    release.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await ended).map(({ status }) => status)).toEqual(["rejected", ...Array(3).fill("fulfilled")]);
  expect(running).toEqual({ now: 0, most: 2 });
});
