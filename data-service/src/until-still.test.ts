// Acting beside others until nobody came in between.
import { describe, expect, it } from "@jest/globals";
import { untilStill } from "./until-still.js";

function refuse(): never {
  throw new Error("gave up");
}

/** Somebody comes in between so often, and then nobody does. */
function actBeside(others: number) {
  let acted = 0;
  const act = async (): Promise<"done" | false> => {
    acted += 1;
    return acted > others && "done";
  };
  return { act, acted: () => acted };
}

describe("acting beside others", () => {
  it("goes on until nobody came in between", async () => {
    const { act, acted } = actBeside(2);
    expect(await untilStill(act, { attempts: 3, gaveUp: refuse })).toBe("done");
    expect(acted()).toBe(3);
  });

  it("ends after so many attempts with a refusal, or with what is given instead", async () => {
    const { act, acted } = actBeside(10);
    await expect(untilStill(act, { attempts: 3, gaveUp: refuse })).rejects.toThrow("gave up");
    expect(acted()).toBe(3);
    expect(await untilStill(act, { attempts: 1, gaveUp: () => "left as it is" })).toBe("left as it is");
  });

  it("lets the others go first for a while", async () => {
    const { act } = actBeside(2);
    const began = performance.now();
    await untilStill(act, { attempts: 3, pauseMs: 20, gaveUp: refuse });
    // A timer may be a millisecond early.
    expect(performance.now() - began).toBeGreaterThanOrEqual(38);
  });

  it("takes nothing but false for an attempt in vain", async () => {
    expect(await untilStill(async () => 0, { attempts: 1, gaveUp: refuse })).toBe(0);
    expect(await untilStill(async () => undefined, { attempts: 1, gaveUp: refuse })).toBeUndefined();
  });
});
