import { describe, expect, it } from "@jest/globals";
import { oneAtATime } from "./one-at-a-time.js";

describe("oneAtATime", () => {
  it("begins a task when the one before has ended, in the order they came", async () => {
    const queue = oneAtATime();
    const events: string[] = [];
    const task = (name: string) => async () => {
      events.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 2));
      events.push(`${name} ends`);
      return name;
    };
    const results = await Promise.all([queue(task("a")), queue(task("b")), queue(task("c"))]);
    expect(results).toEqual(["a", "b", "c"]);
    expect(events).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  });

  it("goes on after a task that failed, and tells only its caller", async () => {
    const queue = oneAtATime();
    const failed = queue(async () => {
      throw new Error("no");
    });
    const next = queue(async () => "yes");
    await expect(failed).rejects.toThrow("no");
    expect(await next).toBe("yes");
  });
});
