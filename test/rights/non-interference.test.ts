// No answer to a restricted caller tells anything about what the caller may not see.
import { describe, expect, it } from "@jest/globals";
import { describeLeak, run } from "./non-interference.js";

const PAIRS = 400;
const SEED = 20_260_907;

describe("a caller with rules", () => {
  it(`is answered the same ${PAIRS} generated requests whatever the unseen data is`, async () => {
    const leaks = await run({ pairs: PAIRS, seed: SEED });
    expect(leaks.map(describeLeak).join("\n")).toBe("");
  }, 300_000);
});
