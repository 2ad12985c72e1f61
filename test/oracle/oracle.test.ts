// Generated requests, over HTTP on the real engine, must answer what the contract says: see evaluate.ts.
import { describe, expect, it } from "@jest/globals";
import { describeFinding, run } from "./harness.js";

const RUNS = 2000;
const SEED = 20_240_531;

describe("the query language", () => {
  it(`answers ${RUNS} generated requests as the oracle does`, async () => {
    const { findings, telling } = await run({ runs: RUNS, seed: SEED, mostFindings: 1 });
    expect(findings.map(describeFinding).join("\n")).toBe("");
    // Answers without records would prove little.
    expect(telling).toBeGreaterThan(RUNS / 3);
  }, 300_000);
});
