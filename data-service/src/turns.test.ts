// Work that is done so many at once.
import { describe, expect, it } from "@jest/globals";
import { AppError, unavailable } from "@portico/shared/app-error";
import { makeTurns } from "./turns.js";

const refusal = () => unavailable("Too many at once.", 2);

describe("turns", () => {
  it("run so many at once, keep so many waiting in order, and refuse the next", async () => {
    const run = makeTurns({ atOnce: 2, mostWaiting: 3, maxWaitMs: 10_000, refusal });
    const done: number[] = [];
    let running = 0;
    let most = 0;
    const task = (name: number) =>
      run(async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
        done.push(name);
      });
    const all = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(task));
    expect(all.map(({ status }) => status)).toEqual([...Array(5).fill("fulfilled"), "rejected"]);
    const [refused] = all.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refused).toBeInstanceOf(AppError);
    expect(refused).toMatchObject({ code: "SERVICE_UNAVAILABLE", headers: { "Retry-After": "2" } });
    expect([most, done]).toEqual([2, [1, 2, 3, 4, 5]]);
  });

  it("refuse what could not begin in time, and run what comes behind it", async () => {
    const run = makeTurns({ atOnce: 1, mostWaiting: 10, maxWaitMs: 20, refusal });
    let finish = (): void => {};
    const long = run(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    await expect(run(async () => "too late")).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    finish();
    await long;
    await expect(run(async () => "fine")).resolves.toBe("fine");
  });

  it("wait as long as it takes when no time is given", async () => {
    const run = makeTurns({ atOnce: 1, mostWaiting: 1, refusal });
    const long = run(() => new Promise((resolve) => setTimeout(resolve, 50)));
    const next = run(async () => "fine");
    await expect(run(async () => "one too many")).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
    await long;
    await expect(next).resolves.toBe("fine");
  });

  it("go on after failures", async () => {
    const run = makeTurns({ atOnce: 1, mostWaiting: 10, maxWaitMs: 10_000, refusal });
    const fail = () => run(() => Promise.reject(new Error("broken")));
    await Promise.allSettled([fail(), fail(), fail()]);
    await expect(run(async () => "fine")).resolves.toBe("fine");
  });
});
