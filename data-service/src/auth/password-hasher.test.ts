import { describe, expect, it } from "@jest/globals";
import { hash } from "@node-rs/argon2";
import { AppError } from "@portico/shared/app-error";
import { makePasswordHasher, makePool, passwordProblem } from "./password-hasher.js";

const hasher = makePasswordHasher();

describe("the password hasher", () => {
  it("makes argon2id PHC strings with the parameters of the contract and checks them", async () => {
    const stored = await hasher.hash("correct horse battery");
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(await hasher.verify(stored, "correct horse battery")).toBe(true);
    expect(await hasher.verify(stored, "correct horse batterz")).toBe(false);
    expect(hasher.needsRehash(stored)).toBe(false);
  });

  it("reads all of a long password, also beyond 72 bytes and a NUL", async () => {
    const start = `${"a".repeat(72)}\0`;
    const stored = await hasher.hash(`${start}x`);
    expect(await hasher.verify(stored, `${start}y`)).toBe(false);
    expect(await hasher.verify(stored, `${start}x`)).toBe(true);
  });

  it("knows weaker hashes and lets stronger ones be", async () => {
    const weak = { memoryCost: 8192, timeCost: 2, parallelism: 1 };
    expect(hasher.needsRehash(await hash("password1", weak))).toBe(true);
    const strong = { memoryCost: 32_768, timeCost: 3, parallelism: 1 };
    expect(hasher.needsRehash(await hash("password1", strong))).toBe(false);
    const other = (await hasher.hash("password1")).replace("argon2id", "argon2i");
    expect(hasher.needsRehash(other)).toBe(true);
  });

  it("takes a damaged stored hash for a wrong password", async () => {
    expect(await hasher.verify("not a hash", "password1")).toBe(false);
    expect(await hasher.verify("", "password1")).toBe(false);
  });

  it("verifies nothing at the cost of a real check", async () => {
    const stored = await hasher.hash("password1");
    const time = async (work: () => Promise<boolean>) => {
      const start = performance.now();
      expect(await work()).toBe(false);
      return performance.now() - start;
    };
    // The quickest of several, taken in turns: what the work costs, without what a busy machine adds.
    let real = Number.POSITIVE_INFINITY;
    let nothing = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 10; round += 1) {
      real = Math.min(real, await time(() => hasher.verify(stored, "password2")));
      nothing = Math.min(nothing, await time(() => hasher.verifyNothing("password2")));
    }
    // Generous: this guards against "returns at once"; a statistical comparison belongs to the whole system.
    expect(nothing).toBeGreaterThan(real / 3);
  });
});

describe("the pool", () => {
  it("runs so many at once, keeps so many waiting in order, and refuses the next", async () => {
    const run = makePool(2, 3, 10_000);
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

  it("refuses what could not begin in time, and runs what comes behind it", async () => {
    const run = makePool(1, 10, 20);
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

  it("goes on after failures", async () => {
    const run = makePool(1, 10, 10_000);
    const fail = () => run(() => Promise.reject(new Error("broken")));
    await Promise.allSettled([fail(), fail(), fail()]);
    await expect(run(async () => "fine")).resolves.toBe("fine");
  });
});

describe("passwordProblem", () => {
  it.each([
    ["12345678", undefined],
    ["🔑".repeat(8), undefined],
    ["a".repeat(1024), undefined],
    ["1234567", "must have 8 to 1024 characters"],
    ["🔑".repeat(7), "must have 8 to 1024 characters"],
    ["a".repeat(1025), "must have 8 to 1024 characters"],
    ["1234567\ud800", "must be valid Unicode text"],
  ])("case %#", (password, expected) => {
    expect(passwordProblem(password)).toBe(expected);
  });
});
