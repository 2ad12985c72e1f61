// Which instances are dead, and what may be taken over from them.
import { describe, expect, it } from "@jest/globals";
import { isDead } from "./dead-instances.js";

const NOW = Date.UTC(2026, 0, 1);

/** What is said of something that was noted so many seconds ago, of instances of which only "living" is heard. */
function judge(instance: string, seconds: number, { alone = false } = {}): Promise<boolean> {
  const onlooker = {
    clock: { now: () => new Date(NOW) },
    instances: { lives: async (id: string) => id === "living" },
    own: "own",
    alone,
  };
  return isDead(onlooker, { instance, at: new Date(NOW - seconds * 1_000) });
}

describe("what an instance has noted", () => {
  it("is left to it while it lives, however long it takes", async () => {
    expect(await judge("living", 3_600)).toBe(false);
  });

  it("is ended by others once it is not heard of and has been silent for ten seconds", async () => {
    expect([await judge("gone", 10), await judge("gone", 11)]).toEqual([false, true]);
  });

  it("is ended by others once it is not heard of, where its clock was further ahead than one may be", async () => {
    const ahead = 3_600;
    expect([await judge("gone", -ahead), await judge("living", -ahead)]).toEqual([true, false]);
  });

  it("is left for as long as it says, which is two minutes at most", async () => {
    expect(await judge("gone", -120)).toBe(false);
  });

  it("is ended at once where nobody else can be at work", async () => {
    expect(await judge("gone", 0, { alone: true })).toBe(true);
  });

  it("is given a minute where it is one's own: a request may be about it still", async () => {
    expect([await judge("own", 60), await judge("own", 61)]).toEqual([false, true]);
    expect(await judge("own", 60, { alone: true })).toBe(false);
    expect(await judge("own", -3_600)).toBe(false);
  });
});
