// Password hashes: parameters of the contract, old ones, and the same work where there is none.
import { describe, expect, it } from "@jest/globals";
import { hash } from "@node-rs/argon2";
import { makePasswordHasher } from "./password-hasher.js";
import { passwordProblem } from "./password-problem.js";

const hasher = makePasswordHasher();
/** As somebody may have written it into the database; it takes next to no time. */
const weaker = hash("password1", { memoryCost: 64, timeCost: 1, parallelism: 1 });

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
    const quick = { memoryCost: 19_456, timeCost: 1, parallelism: 1 };
    expect(hasher.needsRehash(await hash("password1", quick))).toBe(true);
    const strong = { memoryCost: 32_768, timeCost: 3, parallelism: 1 };
    expect(hasher.needsRehash(await hash("password1", strong))).toBe(false);
    const other = (await hasher.hash("password1")).replace("argon2id", "argon2i");
    expect(hasher.needsRehash(other)).toBe(true);
  });

  it("takes a damaged stored hash for a wrong password", async () => {
    expect(await hasher.verify("not a hash", "password1")).toBe(false);
    expect(await hasher.verify("", "password1")).toBe(false);
  });

  it.each<[string, () => Promise<boolean>]>([
    ["verifies nothing", () => hasher.verifyNothing("password2")],
    ["refuses the password of a weaker hash", async () => hasher.verify(await weaker, "password2")],
  ])("%s at no less than the cost of a real check", async (_what, work) => {
    const stored = await hasher.hash("password1");
    const time = async (work: () => Promise<boolean>) => {
      const start = performance.now();
      expect(await work()).toBe(false);
      return performance.now() - start;
    };
    // The quickest of several, taken in turns: what the work costs, without what a busy machine adds.
    let real = Number.POSITIVE_INFINITY;
    let other = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 10; round += 1) {
      real = Math.min(real, await time(() => hasher.verify(stored, "password2")));
      other = Math.min(other, await time(work));
    }
    // Generous: this guards against "returns at once"; a statistical comparison belongs to the whole system.
    expect(other).toBeGreaterThan(real / 3);
  });
});

describe("many passwords at once", () => {
  it("are taken to be hashed up to fifty, which leaves room for those that are to be checked", async () => {
    const stored = await hasher.hash("password1");
    const refusals: unknown[] = [];
    const note = (error: unknown): void => void refusals.push(error);
    const hashing = Array.from({ length: 60 }, () => hasher.hash("password1").catch(note));
    const checking = hasher.verify(stored, "password1").catch(note);
    // What is refused later has waited too long, on a machine that is busy.
    await new Promise(setImmediate);
    expect(refusals).toEqual(Array(10).fill(expect.objectContaining({ code: "SERVICE_UNAVAILABLE" })));
    await Promise.all([...hashing, checking]);
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
