// No answer to a restricted caller tells anything about what the caller may not see.
import { describe, expect, it } from "@jest/globals";
import { answersBesideLargeUnseen } from "./large-unseen.js";
import { describeLeak, run } from "./non-interference.js";

const PAIRS = 400;
const SEED = 20_260_907;

describe("a caller with rules", () => {
  it(`is answered the same ${PAIRS} generated requests whatever the unseen data is`, async () => {
    const { leaks, telling, changes } = await run({ pairs: PAIRS, seed: SEED });
    expect(leaks.map(describeLeak).join("\n")).toBe("");
    // Refusals, and data that stays as it is, would prove nothing.
    expect(telling).toBeGreaterThan(PAIRS / 2);
    expect(changes).toBeGreaterThan(PAIRS / 4);
  }, 300_000);

  it("is answered the same however large what its records hide is", async () => {
    const { much, none } = await answersBesideLargeUnseen();
    expect(much).toEqual(none);
    for (const answer of Object.values(none)) expect(answer).toEqual([200, expect.anything()]);
  });
});
